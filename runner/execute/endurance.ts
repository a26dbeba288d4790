// Marks the work of runs that have been executing for long, so that a process that dies over an item leaves a trace of which one it was
// (F7). Short runs are never marked: they cost the state nothing.
import type { CancelTimer, Clock } from '../clock.ts';
import { refOf } from './caution.ts';
import type { StateStore, WorkRef } from './ports.ts';
import type { Run } from './run.ts';

const LONG_MS = 1_000;

export class Endurance {
  readonly #state: StateStore;
  readonly #clock: Clock;
  /** In order of their beginning. */
  readonly #runs: Iterable<Run>;
  #stop: CancelTimer | undefined;

  constructor(state: StateStore, clock: Clock, runs: Iterable<Run>) {
    this.#state = state;
    this.#clock = clock;
    this.#runs = runs;
  }

  /** A run began: somebody looks at it when it may have become a long one. */
  watch(): void {
    this.#stop ??= this.#clock.after(LONG_MS, () => this.#look());
  }

  /** No run is left. */
  rest(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  #look(): void {
    this.#stop = undefined;
    const nowMs = this.#clock.nowMs();
    const long: WorkRef[] = [];
    for (const run of this.#runs) {
      if (nowMs - run.startedAtMs < LONG_MS) {
        this.watch();
        break;
      }
      if (run.isOnRecord || run.order.kind !== 'item') continue;
      if (!run.isAtWork) {
        this.watch();
        continue;
      }
      run.isOnRecord = true;
      long.push(...refOf(run));
    }
    // A mark that cannot be written costs a later death one count, nothing else.
    if (long.length > 0) void this.#state.startWork(long).catch(() => {});
  }
}
