// The loan of one run's slot to its children, one at a time (A7, A8).
//   L1. At most one borrower at a time.
//   L2. `pending` counts the children that are not over: they wait, follow or are in flight. Whoever has some waits and takes no room (A12).
//   L3. While the loan is idle, the first waiting lane of each class is offered: it may start without a slot from the pool.
import type { Brood } from './branch.ts';
import { Heap, type Placed } from './heap.ts';
import type { RunLane } from './lane.ts';
import type { Room } from './rooms.ts';
import type { RunEntry } from './run.ts';

/** A lane's place in the queue for one loan. */
export class Turn implements Placed {
  pos = -1;
  readonly lane: RunLane;

  constructor(lane: RunLane) {
    this.lane = lane;
  }
}

export class Loan {
  readonly lender: RunEntry;
  isOpen = true;
  borrower: RunEntry | undefined = undefined;
  pending = 0;
  /** The lender's children in its own update. */
  brood: Brood | undefined = undefined;
  /** By class: lanes with children that wait, in order of their first run's arrival. */
  readonly #turns: Heap<Turn>[] = [];
  /** By class: the lane that is offered. */
  readonly offered: (RunLane | undefined)[] = [];

  constructor(lender: RunEntry) {
    this.lender = lender;
  }

  get isIdle(): boolean {
    return this.isOpen && this.borrower === undefined && this.lender.state === 'granted';
  }

  /** The lender has nothing to do until a child ends (L2). */
  get isWaited(): boolean {
    return this.borrower !== undefined || (this.isOpen && this.pending > 0);
  }

  firstOf(room: Room): RunLane | undefined {
    return this.#turns[room.number]?.first?.lane;
  }

  /** Puts a lane where its first run belongs in the queue, or takes it out when it is empty. */
  lineUp(lane: RunLane): void {
    const { turn } = lane;
    this.#turns[lane.room.number] ??= new Heap((a, b) => a.lane.head - b.lane.head);
    const queue = this.#turns[lane.room.number] as Heap<Turn>;
    if (lane.isEmpty) {
      if (turn.pos >= 0) queue.remove(turn);
    } else if (turn.pos < 0) queue.push(turn);
    else queue.moved(turn);
  }
}
