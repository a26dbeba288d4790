// What goes on in a dispatcher, as counts: held and waiting by source, demand by class of runner, runs by runner. Fed by its events.
//   H1. A run is counted in exactly one place: waiting, executing, or in back-off; a parent that waits for children stays with its runner.
import type { DispatchEvents, GrantReason, RunView } from '../dispatch/index.ts';

/** Slots that one source's runs hold, and runs that wait for one. */
export interface SourceActivity {
  held: number;
  waiting: number;
  backoff: number;
  /** Runs on runners, parents that wait included. */
  inFlight: number;
}

/** Runs that wait, and the shares of cards that they will ask for. */
export interface WaitingRuns {
  readonly runs: number;
  readonly milliCards: number;
}

interface Tracked {
  readonly group: string;
  readonly isLoan: boolean;
  readonly runner: string;
}

/** Group of the Pipeline's own updates. */
export const OWN_UPDATES = '';

const groupOf = (run: RunView): string => run.update.start.source ?? OWN_UPDATES;

export class Activity implements DispatchEvents {
  readonly #sources = new Map<string, SourceActivity>();
  readonly #waitingByClass = new Map<string | undefined, WaitingRuns>();
  readonly #inFlight = new Map<number, Tracked>();
  readonly #waiting = new Map<number, string | undefined>();
  readonly #parked = new Map<number, string>();
  readonly #byRunner = new Map<string, number>();
  readonly #onDemand: () => void;

  /** `onDemand` is called when runs begin or cease to wait, or a runner has its first or loses its last run. */
  constructor(onDemand: () => void) {
    this.#onDemand = onDemand;
  }

  of(source: string): Readonly<SourceActivity> {
    return this.#sources.get(source) ?? NOTHING;
  }

  get total(): SourceActivity {
    const total = { ...NOTHING };
    for (const { held, waiting, backoff, inFlight } of this.#sources.values()) {
      total.held += held;
      total.waiting += waiting;
      total.backoff += backoff;
      total.inFlight += inFlight;
    }
    return total;
  }

  /** Runs that wait for a class; undefined: those that need none. */
  waitingFor(runnerClass: string | undefined): Readonly<WaitingRuns> {
    return this.#waitingByClass.get(runnerClass) ?? NOBODY;
  }

  /** Runs that a runner has, parents that wait included. */
  onRunner(name: string): number {
    return this.#byRunner.get(name) ?? 0;
  }

  /** A source is gone, and with it its counts once they are zero. */
  forget(source: string): void {
    const known = this.#sources.get(source);
    if (known !== undefined && known.waiting + known.inFlight + known.backoff === 0) this.#sources.delete(source);
  }

  requested(run: RunView): void {
    // A watcher takes no slot and waits for none.
    if (this.#waiting.has(run.number) || run.kind === 'watch') return;
    if (this.#parked.delete(run.number)) this.#mutable(groupOf(run)).backoff--;
    this.#waiting.set(run.number, run.runnerClass);
    this.#mutable(groupOf(run)).waiting++;
    const { runs, milliCards } = this.waitingFor(run.runnerClass);
    this.#waitingByClass.set(run.runnerClass, { runs: runs + 1, milliCards: milliCards + run.milliCards });
    if (runs === 0) this.#onDemand();
  }

  granted(run: RunView, { isLoan, runner }: GrantReason): void {
    this.#leaveQueue(run);
    if (this.#parked.delete(run.number)) this.#mutable(groupOf(run)).backoff--;
    const group = groupOf(run);
    const source = this.#mutable(group);
    source.inFlight++;
    if (!isLoan) source.held++;
    this.#inFlight.set(run.number, { group, isLoan, runner });
    const runs = this.onRunner(runner);
    this.#byRunner.set(runner, runs + 1);
    if (runs === 0) this.#onDemand();
  }

  ended(run: RunView): void {
    this.#leave(run);
  }

  parked(run: RunView): void {
    this.#leave(run);
    this.#parked.set(run.number, groupOf(run));
    this.#mutable(groupOf(run)).backoff++;
  }

  lost(run: RunView): void {
    this.#leave(run);
  }

  #leave(run: RunView): void {
    this.#leaveQueue(run);
    if (this.#parked.delete(run.number)) this.#mutable(groupOf(run)).backoff--;
    const tracked = this.#inFlight.get(run.number);
    if (tracked === undefined) return;
    this.#inFlight.delete(run.number);
    const source = this.#mutable(tracked.group);
    source.inFlight--;
    if (!tracked.isLoan) source.held--;
    const runs = this.onRunner(tracked.runner) - 1;
    if (runs > 0) this.#byRunner.set(tracked.runner, runs);
    else {
      this.#byRunner.delete(tracked.runner);
      this.#onDemand();
    }
  }

  #leaveQueue(run: RunView): void {
    if (!this.#waiting.has(run.number)) return;
    const runnerClass = this.#waiting.get(run.number);
    this.#waiting.delete(run.number);
    this.#mutable(groupOf(run)).waiting--;
    const { runs, milliCards } = this.waitingFor(runnerClass);
    if (runs === 1) this.#waitingByClass.delete(runnerClass);
    else this.#waitingByClass.set(runnerClass, { runs: runs - 1, milliCards: milliCards - run.milliCards });
  }

  #mutable(source: string): SourceActivity {
    const known = this.#sources.get(source);
    if (known !== undefined) return known;
    const fresh = { ...NOTHING };
    this.#sources.set(source, fresh);
    return fresh;
  }
}

const NOBODY: WaitingRuns = { runs: 0, milliCards: 0 };
const NOTHING: Readonly<SourceActivity> = { held: 0, waiting: 0, backoff: 0, inFlight: 0 };
