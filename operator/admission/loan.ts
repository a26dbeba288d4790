// The loan of one run's slot to its children, one at a time (A7, A8).
//   L1. At most one borrower at a time.
//   L2. `pending` counts the children that are not over: they wait, follow or are in flight. Who has some waits and takes no room (A12).
//   L3. While the loan is idle, it is offered to the child of each class that has waited longest.
import type { BranchEntry } from './branch.ts';
import { type Lane, needOf } from './lane.ts';
import type { Room } from './rooms.ts';
import type { RunEntry } from './run.ts';

export class Loan {
  readonly lender: RunEntry;
  isOpen = true;
  borrower: RunEntry | undefined = undefined;
  pending = 0;
  /** The lender's children in its own update; made with the first. */
  brood: BranchEntry | undefined = undefined;
  /** Live sources that the lender mounted: the root runs of their updates are its children too (A8). */
  readonly mounted: BranchEntry[] = [];
  /** By class: the brood's lane that it is offered to. */
  readonly offered: (Lane | undefined)[] = [];

  constructor(lender: RunEntry) {
    this.lender = lender;
  }

  get isIdle(): boolean {
    return this.isOpen && this.borrower === undefined && this.lender.state === 'granted';
  }

  /** The lender has nothing to do until a child is over (L2). */
  get isWaiting(): boolean {
    return this.borrower !== undefined || (this.isOpen && this.pending > 0);
  }

  /** L3: the lane to offer it to. */
  firstFor(room: Room): Lane | undefined {
    const need = needOf(room, false);
    let first = this.brood?.laneFor(need);
    for (const { children } of this.mounted)
      for (const update of children) {
        const lane = update.laneFor(need);
        if (lane.first && (!first?.first || lane.first.number < first.first.number)) first = lane;
      }
    return first?.first && first.branch.laneFor(need + 1);
  }
}
