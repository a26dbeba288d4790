// The loan of one run's slot, to one run at a time (A7, A8). It lasts as long as the lender: then its branches have no loan any more.
//   L1. At most one borrower at a time.
//   L2. `pending` counts the children that are not over: they wait, follow or are in flight. Who has some waits and takes no room (A12).
//   L3. While the loan is idle, all children that wait are offered it; the order of the tree says who takes it (A2).
//   L4. The borrower is a child of the lender, or the run that its next child has to give way to (M3).
import { BranchEntry } from './branch.ts';
import type { Rooms } from './rooms.ts';
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
  readonly #rooms: Rooms;

  constructor(lender: RunEntry, number: number, rule: ServingRule, rooms: Rooms) {
    this.lender = lender;
    this.brood = new BranchEntry({ number, kind: 'update', name: lender.update.name }, rule, lender.update, this);
    this.#rooms = rooms;
  }

  /** The lender has nothing to do until a child is over (L2). */
  get isWaiting(): boolean {
    return this.borrower !== undefined || this.pending > 0;
  }

  /** A child was asked for, or is over. */
  count(children: 1 | -1): void {
    this.pending += children;
    this.#rooms.execute(this.lender, !this.isWaiting);
  }

  /** To the borrower, or back to the lender, whose children are offered it then (L3). */
  pass(borrower: RunEntry | undefined): void {
    this.borrower = borrower;
    this.#settle();
    this.#rooms.execute(this.lender, !this.isWaiting);
  }

  /** The lender has ended: children that waited for the loan wait for the pool. */
  close(): void {
    for (const branch of this.branches) branch.loan = undefined;
    this.#settle();
  }

  #settle(): void {
    for (const { lanes } of this.branches) for (const lane of lanes) if (lane.isLoan) lane.settleUp();
  }
}
