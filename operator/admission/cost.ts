// What a branch's holding is counted in (A11). Computed from exact counts each time, so nothing drifts.
import type { BranchEntry } from './branch.ts';
import type { Cost } from './types.ts';

/** What there is of each; absent: it does not count. */
export type Capacity = Readonly<Record<'heldSlots' | 'bytes' | 'milliCards', number | undefined>>;

const RESOURCES = ['heldSlots', 'bytes', 'milliCards'] as const;

/** Dominant shares are compared in whole billionths. */
export function costOf(cost: Cost, branch: BranchEntry, capacity: Capacity): number {
  if (cost !== 'dominant-share') return cost === 'slots' ? branch.heldSlots : branch.bytes;
  const shares = RESOURCES.map((what) => branch[what] / (capacity[what] ?? Number.POSITIVE_INFINITY));
  return Math.floor(Math.max(...shares) * 1e9);
}
