// What a branch's holding is counted in (A11).
import type { BranchEntry } from './branch.ts';
import type { Cost } from './types.ts';

/** Dominant shares are compared in whole billionths. They are computed from exact counts each time, so nothing drifts. */
const BILLION = 1_000_000_000;

/** What there is of each; absent: it does not count. */
export interface Capacity {
  readonly slots: number;
  readonly bytes: number | undefined;
  readonly milliCards: number | undefined;
}

const share = (amount: number, whole: number | undefined): number =>
  whole === undefined ? 0 : Math.floor((amount / whole) * BILLION);

/** Undefined: slots. The capacity is asked anew each time, because it may change. */
export function costOf(cost: Cost, capacity: () => Capacity): ((branch: BranchEntry) => number) | undefined {
  if (cost === 'slots') return undefined;
  if (cost === 'bytes') return ({ bytes }) => bytes;
  return ({ heldSlots, bytes, milliCards }) => {
    const all = capacity();
    return Math.max(share(heldSlots, all.slots), share(bytes, all.bytes), share(milliCards, all.milliCards));
  };
}
