// The seats that are there: how runners join, fall silent, are heard again and go.
import type { Runner, RunnerReport, Uplink } from '../../runner/protocol/index.ts';
import type { Adoption } from './adoption.ts';
import { type Outbox, PostedRunner } from './outbox.ts';
import type { Placement } from './placement.ts';
import { Seat } from './seat.ts';
import { type Concerned, SeatUplink } from './seat-uplink.ts';

export interface RunnerStart {
  /** Unique among the runners that are there. */
  readonly name: string;
  readonly runnerClass: string;
  /** Runs that it executes at once. */
  readonly slots: number;
  /** Cards that it has; default none. */
  readonly cards?: number;
  readonly runner: Runner;
  /** It only writes down what it is told, and calls nobody from inside: it is told in the middle of decisions. Else calls wait. */
  readonly takesNotes?: boolean;
}

/** A runner that joined. */
export interface JoinedRunner {
  /** What the runner calls. */
  readonly uplink: Uplink;
  readonly seat: Seat;
}

export interface SeatsOptions extends Concerned {
  readonly placement: Placement;
  readonly adoption: Adoption;
  readonly outbox: Outbox;
}

export class Seats {
  readonly #options: SeatsOptions;
  readonly #seats = new Map<string, Seat>();
  #joined = 0;

  constructor(options: SeatsOptions) {
    this.#options = options;
  }

  all(): IterableIterator<Seat> {
    return this.#seats.values();
  }

  /** A runner joins, with runs of an earlier operator (B1 to B6) or none. */
  join(start: RunnerStart, report: RunnerReport): JoinedRunner {
    if (this.#seats.has(start.name)) throw new Error(`a runner named ${start.name} is there already`);
    const { outbox, placement, adoption, watchers, cards, events } = this.#options;
    const runner = start.takesNotes === true ? start.runner : new PostedRunner(start.runner, outbox);
    const seat = new Seat({ cards: 0, ...start, runner, ordinal: this.#joined++ });
    this.#seats.set(seat.name, seat);
    cards.seatJoined(seat);
    events.runnerJoined?.(seat.name, seat.runnerClass, seat.slots);
    // Until all that it holds is counted, nothing is granted for it.
    placement.setPhase(seat, 'silent');
    adoption.adopt(seat, report);
    placement.setPhase(seat, 'serving');
    watchers.seatJoined();
    if (report.census !== undefined) events.counted?.(report.census);
    return { seat, uplink: new SeatUplink(seat, this.#options) };
  }

  drain(seat: Seat): void {
    this.#options.placement.setPhase(seat, 'draining');
    this.#options.cards.setHeard(seat, true);
  }

  silence(seat: Seat): void {
    this.#options.placement.setPhase(seat, 'silent');
    this.#options.cards.setHeard(seat, false);
  }

  resume(seat: Seat): void {
    const { placement, cards, watchers } = this.#options;
    placement.setPhase(seat, 'serving');
    cards.setHeard(seat, true);
    watchers.seatJoined();
  }

  resize(seat: Seat, slots: number): void {
    this.#options.placement.resize(seat, slots);
  }

  /** D4, D6. */
  remove(seat: Seat): void {
    if (seat.phase === 'gone') return;
    const { placement, runs, watchers, cards, events } = this.#options;
    placement.setPhase(seat, 'gone');
    this.#seats.delete(seat.name);
    const lost = runs.lost(seat);
    watchers.lost(seat);
    cards.seatLeft(seat);
    events.runnerLeft?.(seat.name, lost > 0 ? 'lost' : 'removed');
  }
}
