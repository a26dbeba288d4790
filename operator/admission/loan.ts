// The loan of one run's slot to its children, one at a time (A7, A8).
//   L1. At most one borrower at a time.
//   L2. `pending` counts the children that are not over: they wait, follow or are in flight. Who has some waits and takes no room (A12).
//   L3. While the loan is idle, the first waiting lane of each class is offered it: its runs may start without a slot from the pool.
import type { Brood, Lane } from './branch.ts';
import { EITHER, type Heap, move, type Placed, push, remove } from './heap.ts';
import type { Room } from './rooms.ts';
import type { RunEntry } from './run.ts';

/** A lane's place among those that wait for one loan. */
export interface Turn extends Placed {
  readonly lane: Lane;
}

class Turns implements Heap<Turn> {
  readonly items: Turn[] = [];

  /** In order of arrival. */
  compare(a: Turn, b: Turn): number {
    return a.lane.head - b.lane.head;
  }
}

export class Loan {
  readonly lender: RunEntry;
  isOpen = true;
  borrower: RunEntry | undefined = undefined;
  pending = 0;
  /** The lender's children in its own update. */
  brood: Brood | undefined = undefined;
  /** By class: the lane that is offered. */
  readonly offered: (Lane | undefined)[] = [];
  /** By class: lanes that wait for the loan. Usually one; more below a mounted live source (A8). */
  readonly #turns: Turns[] = [];

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
    return this.#turns[room.number]?.items[0]?.lane;
  }

  /** The first run of a lane changed: puts the lane where it belongs among those that wait, or takes it out. */
  lineUp(lane: Lane, room: Room): void {
    this.#turns[room.number] ??= new Turns();
    const turns = this.#turns[room.number] as Turns;
    lane.turn ??= { pos: -1, lane };
    if (lane.head === 0) {
      if (lane.turn.pos >= 0) remove(turns, lane.turn);
    } else if (lane.turn.pos < 0) push(turns, lane.turn);
    else move(turns, lane.turn, EITHER);
  }
}
