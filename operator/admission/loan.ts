// The loan of one run's slot to its children, one at a time (A7, A8).
//   L1. At most one borrower at a time.
//   L2. `pending` counts the children that are not over: they wait, follow or are in flight. Who has some waits and takes no room (A12).
//   L3. While the loan is idle, the first waiting lane of each class is offered it: its runs may start without a slot from the pool.
import type { Brood, Lane } from './branch.ts';
import type { Room } from './rooms.ts';
import type { RunEntry } from './run.ts';

export class Loan {
  readonly lender: RunEntry;
  isOpen = true;
  borrower: RunEntry | undefined = undefined;
  pending = 0;
  /** The lender's children in its own update. */
  brood: Brood | undefined = undefined;
  /** By class: the lane that is offered. */
  readonly offered: (Lane | undefined)[] = [];
  /** By class: lanes that wait for the loan, in the order in which they began to. Usually one; more below a mounted live source (A8). */
  readonly #lanes: Set<Lane>[] = [];

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

  firstOf(room: Room): Lane | undefined {
    return this.#lanes[room.number]?.values().next().value;
  }

  /** Takes a lane into the queue when it begins to wait, and out of it when nobody waits there any more. */
  lineUp(lane: Lane, room: Room): void {
    this.#lanes[room.number] ??= new Set();
    if (lane.head === 0) this.#lanes[room.number]?.delete(lane);
    else this.#lanes[room.number]?.add(lane);
  }
}
