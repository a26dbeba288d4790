// The table of live runs: all that was asked for and has not ended, by number.
//   D2. A run executes on at most one seat. What a seat says of a run that it does not execute any more is ignored.
import { firstRunNumber, type RunNumber } from '../../runner/protocol/index.ts';
import { addChild, type LiveRun } from './live-run.ts';
import type { Seat } from './seat.ts';

export class RunTable {
  readonly #runs = new Map<RunNumber, LiveRun>();
  /** Runs that were not taken over and have not stopped, with the numbers by which their runners know them. */
  readonly #condemned = new Map<LiveRun, RunNumber>();
  #nextNumber: RunNumber;

  constructor(epoch: number) {
    this.#nextNumber = firstRunNumber(epoch);
  }

  get size(): number {
    return this.#runs.size;
  }

  all(): Iterable<LiveRun> {
    return this.#runs.values();
  }

  get(number: RunNumber): LiveRun | undefined {
    return this.#runs.get(number);
  }

  /** The run, if this seat has it (D2). */
  on(seat: Seat, number: RunNumber): LiveRun | undefined {
    const run = this.#runs.get(number);
    return run?.seat === seat ? run : this.condemnedOn(seat, number);
  }

  condemnedOn(seat: Seat, number: RunNumber): LiveRun | undefined {
    if (this.#condemned.size === 0) return undefined;
    for (const [condemned, known] of this.#condemned) if (known === number && condemned.seat === seat) return condemned;
    return undefined;
  }

  /** A number that no run of this operator or of an earlier one has. */
  newNumber(): RunNumber {
    return this.#nextNumber++;
  }

  /** A run lives: its update counts it, and its parent knows it. */
  enter(run: LiveRun): void {
    this.#runs.set(run.number, run);
    run.update.liveRuns++;
    if (run.parent !== undefined) addChild(run.parent, run);
  }

  /** Its runner knows it by another number than its own. */
  condemn(run: LiveRun, known: RunNumber): void {
    this.#condemned.set(run, known);
  }

  renumber(run: LiveRun, number: RunNumber): void {
    this.#runs.delete(run.number);
    run.number = number;
    this.#runs.set(number, run);
  }

  leave(run: LiveRun): void {
    this.#runs.delete(run.number);
    this.#condemned.delete(run);
  }
}
