// Placement: which runner executes a granted run.
// Owns:   seats by class, and the count of executing runs on each.
// Leaves: who is granted (the tree), what is said to runners (the dispatcher).
//   P1. The parent's runner if it serves the class and has room.
//   P2. Else the runner of the class with the most room; among equals the one that came first.
//   P3. Room counts executing runs; a parent whose slot is lent leaves its room to others.
//   P5. A run whose steps ask for cards goes where they are least spoken for, whoever its parent's runner is (G4).
//   P4. A run under which two runners were lost shares its runner with no other run under which one was lost, so that the third
//       loss names the guilty one. While no such runner has room, it waits.
// A choice costs one look at the parent's seat and one at the top of a heap for each class, however many runners there are; for runs with
// cards, or under which runners were lost, one at each runner.
import type { Seat, SeatPhase } from './seat.ts';

/** What a run wants from its runner. */
export interface Wish {
  /** Undefined: any class. */
  readonly runnerClass: string | undefined;
  /** Seat of the parent run. */
  readonly preferred: Seat | undefined;
  readonly losses: number;
  /** Largest share of cards that its steps ask for. */
  readonly milliCards: number;
}

/** What a run is to its seat. */
export type Load = Pick<Wish, 'losses' | 'milliCards'>;

const ISOLATED_LOSSES = 2;

/** The serving seats of one class, and how many runs the class can execute at all. */
interface SeatClass {
  readonly name: string;
  /** Heap: most room on top. */
  readonly seats: Seat[];
  /** Slots of serving seats, plus what executes on the others: so nothing new is granted for a seat that drains or is silent. */
  size: number;
}

export class Placement {
  readonly #classes = new Map<string, SeatClass>();
  /** Told when the size of a class changed. */
  readonly #onSize: (runnerClass: string, size: number) => void;

  constructor(onSize: (runnerClass: string, size: number) => void) {
    this.#onSize = onSize;
  }

  add(seat: Seat): void {
    const { seats } = this.#classOf(seat.runnerClass);
    seat.heapIndex = seats.push(seat) - 1;
    this.#moved(seat);
  }

  setPhase(seat: Seat, phase: SeatPhase): void {
    if (seat.phase === phase || seat.phase === 'gone') return;
    seat.phase = phase;
    if (phase === 'serving') this.add(seat);
    else {
      this.#take(seat);
      this.#count(seat);
    }
  }

  choose(wish: Wish): Seat | undefined {
    if (wish.losses >= ISOLATED_LOSSES) return this.#chooseIsolated(wish);
    if (wish.milliCards > 0) {
      const seat = this.#chooseByCards(wish);
      if (seat !== undefined) return seat;
    }
    const { preferred } = wish;
    if (preferred !== undefined && fits(preferred, wish) && preferred.roomForChildren > 0) return preferred;
    if (wish.runnerClass !== undefined) return withRoom(this.#classes.get(wish.runnerClass)?.seats[0]);
    let best: Seat | undefined;
    for (const { seats } of this.#classes.values()) {
      const top = withRoom(seats[0]);
      if (top !== undefined && (best === undefined || isBefore(top, best))) best = top;
    }
    return best;
  }

  occupy(seat: Seat, { losses, milliCards }: Load): void {
    seat.executing++;
    seat.spokenMilli += milliCards;
    if (losses > 0) seat.suspects++;
    this.#moved(seat);
  }

  vacate(seat: Seat, { losses, milliCards }: Load): void {
    seat.executing--;
    seat.spokenMilli -= milliCards;
    if (losses > 0) seat.suspects--;
    this.#moved(seat);
  }

  resize(seat: Seat, slots: number): void {
    seat.slots = slots;
    this.#moved(seat);
  }

  /** P5. Undefined: no runner with room has so many cards. */
  #chooseByCards(wish: Wish): Seat | undefined {
    const cardsMin = Math.ceil(wish.milliCards / 1000);
    let best: Seat | undefined;
    const consider = (seat: Seat): void => {
      if (seat.cards < cardsMin || !fits(seat, wish)) return;
      if (best === undefined || isLessSpokenFor(seat, best, wish.preferred)) best = seat;
    };
    if (wish.preferred !== undefined && wish.preferred.roomForChildren > 0) consider(wish.preferred);
    for (const { seats } of this.#classes.values()) for (const seat of seats) if (seat.room > 0) consider(seat);
    return best;
  }

  #chooseIsolated(wish: Wish): Seat | undefined {
    let best: Seat | undefined;
    for (const { seats } of this.#classes.values()) {
      for (const seat of seats) {
        if (seat.room <= 0 || seat.suspects > 0 || !fits(seat, wish)) continue;
        if (best === undefined || isBefore(seat, best)) best = seat;
      }
    }
    return best;
  }

  /** Out of the heap. */
  #take(seat: Seat): void {
    const at = seat.heapIndex;
    if (at < 0) return;
    seat.heapIndex = -1;
    const { seats } = this.#classOf(seat.runnerClass);
    const last = seats.pop()!;
    if (last === seat) return;
    seats[at] = last;
    settle(seats, at);
  }

  #moved(seat: Seat): void {
    if (seat.heapIndex >= 0) settle(this.#classOf(seat.runnerClass).seats, seat.heapIndex);
    this.#count(seat);
  }

  /** The only writer of class sizes. */
  #count(seat: Seat): void {
    const size = seat.phase === 'serving' ? seat.slots : seat.executing;
    if (size === seat.countedSize) return;
    const seatClass = this.#classOf(seat.runnerClass);
    seatClass.size += size - seat.countedSize;
    seat.countedSize = size;
    this.#onSize(seatClass.name, seatClass.size);
  }

  #classOf(name: string): SeatClass {
    let seatClass = this.#classes.get(name);
    if (seatClass === undefined) {
      seatClass = { name, seats: [], size: 0 };
      this.#classes.set(name, seatClass);
    }
    return seatClass;
  }
}

const fits = (seat: Seat, wish: Wish): boolean =>
  wish.runnerClass === undefined || seat.runnerClass === wish.runnerClass;
const withRoom = (seat: Seat | undefined): Seat | undefined => (seat !== undefined && seat.room > 0 ? seat : undefined);

/** Total order: 1. most room, 2. first to come. */
const isBefore = (a: Seat, b: Seat): boolean => a.room > b.room || (a.room === b.room && a.ordinal < b.ordinal);

/** Total order: 1. less asked of each card, 2. the parent's runner, 3. most room, 4. first to come. */
function isLessSpokenFor(a: Seat, b: Seat, preferred: Seat | undefined): boolean {
  const difference = a.spokenMilli * b.cards - b.spokenMilli * a.cards;
  if (difference !== 0) return difference < 0;
  return a === preferred || (b !== preferred && isBefore(a, b));
}

/** Moves the seat at `at` to where it belongs, after its room changed. */
function settle(heap: Seat[], at: number): void {
  const seat = heap[at]!;
  let index = at;
  while (index > 0) {
    const up = (index - 1) >> 1;
    if (!isBefore(seat, heap[up]!)) break;
    place(heap, index, heap[up]!);
    index = up;
  }
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, seat)) break;
    place(heap, index, heap[child]!);
    index = child;
  }
  place(heap, index, seat);
}

function place(heap: Seat[], index: number, seat: Seat): void {
  heap[index] = seat;
  seat.heapIndex = index;
}
