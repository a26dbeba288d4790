// The loan of one run's slot to its children, one at a time (A7, A8).
//   L1. At most one borrower at a time.
//   L2. `pending` counts the children that are not over: they wait, follow or are in flight. Who has some waits and takes no room (A12).
//   L3. While the loan is idle, all children that wait are offered it; the order of the tree says who takes it (A2).
import type { BranchEntry } from './branch.ts';
import type { RunEntry } from './run.ts';

export class Loan {
  readonly lender: RunEntry;
  isOpen = true;
  /** Open and without a borrower, as lanes saw it last. */
  isIdle = true;
  borrower: RunEntry | undefined = undefined;
  pending = 0;
  /** The lender's children in its own update; made with the first. */
  brood: BranchEntry | undefined = undefined;
  /** Where children wait: the brood, and the updates of the live sources that the lender mounted (A8). */
  readonly branches = new Set<BranchEntry>();

  constructor(lender: RunEntry) {
    this.lender = lender;
  }

  /** The lender has nothing to do until a child is over (L2). */
  get isWaiting(): boolean {
    return this.borrower !== undefined || (this.isOpen && this.pending > 0);
  }
}
