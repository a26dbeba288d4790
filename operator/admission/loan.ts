// The loan of one run's slot, to one run at a time (A7, A8). It lasts as long as the lender: then its branches have no loan any more.
//   L1. At most one borrower at a time.
//   L2. `pending` counts the children that are not over: they wait, follow or are in flight. Who has some waits and takes no room (A12).
//   L3. While the loan is idle, all children that wait are offered it; the order of the tree says who takes it (A2).
//   L4. The borrower is a child of the lender, or the run that its next child has to give way to (M3).
import { BranchEntry } from './branch.ts';
import type { ServingRule } from './rules.ts';
import type { RunEntry } from './run.ts';

export class Loan {
  readonly lender: RunEntry;
  borrower: RunEntry | undefined = undefined;
  pending = 0;
  /** The lender's children in its own update. */
  readonly brood: BranchEntry;
  /** Where children wait: the brood, and the live sources that the lender mounted with their updates (A8). */
  readonly branches = new Set<BranchEntry>();

  constructor(lender: RunEntry, number: number, rule: ServingRule) {
    this.lender = lender;
    this.brood = new BranchEntry({ number, kind: 'update', name: lender.update.name }, rule, lender.update, this);
  }

  get isIdle(): boolean {
    return this.borrower === undefined;
  }

  /** The lender has nothing to do until a child is over (L2). */
  get isWaiting(): boolean {
    return this.borrower !== undefined || this.pending > 0;
  }

  /** The lender has ended: children that waited for the loan wait for the pool. */
  close(): void {
    for (const branch of this.branches) branch.loan = undefined;
    this.settle();
  }

  /** Children are offered it anew, or no more (L3). */
  settle(): void {
    for (const { lanes } of this.branches) for (const lane of lanes) if (lane.isLoan) lane.settleUp();
  }
}
