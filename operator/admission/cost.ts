// What a branch's holding is counted in (A11).
import type { BranchEntry } from './branch.ts';
import type { Cost, TreeOptions } from './types.ts';

/** Dominant shares are compared in whole billionths. They are computed from exact counts each time, so nothing drifts. */
const BILLION = 1_000_000_000;

/** `slots` is asked anew each time, because the limit may change. Bytes weigh against the pool's limit; without one they do not count. */
export function costOf(
  cost: Cost,
  options: TreeOptions,
  slots: () => number,
): ((branch: BranchEntry) => number) | undefined {
  if (cost === 'slots') return undefined;
  if (cost === 'bytes') return (branch) => branch.bytes;
  const { milliCards, limits } = options;
  const share = (amount: number, whole: number | undefined): number =>
    whole === undefined ? 0 : Math.floor((amount / whole) * BILLION);
  return (branch) =>
    Math.max(
      share(branch.heldSlots, slots()),
      share(branch.bytes, limits?.bytes),
      share(branch.milliCards, milliCards),
    );
}
