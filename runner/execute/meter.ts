// What a runner counts for metrics, told to the operator every few seconds while there is something to tell.
import type { Clock } from '../clock.ts';
import { COMMIT_BOUNDS, type RunError, type RunnerStats } from '../protocol/index.ts';

const EVERY_MS = 5_000;

type Counts<K extends string> = { [key in K]?: number };
type CallResult = keyof RunnerStats['calls'];

export class Meter {
  readonly #clock: Clock;
  #toldAtMs: number;
  #commits: number[] = newBuckets();
  #committed = 0;
  #retries: Counts<RunError['class']> = {};
  #calls: Counts<CallResult> = {};
  #isEmpty = true;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#toldAtMs = clock.nowMs();
  }

  /** A transaction of so many components. */
  committed(components: number): void {
    const bucket = COMMIT_BOUNDS.findIndex((bound) => components <= bound);
    this.#commits[bucket < 0 ? COMMIT_BOUNDS.length : bucket]! += 1;
    this.#committed += components;
    this.#isEmpty = false;
  }

  /** A try within a run failed and is made again. */
  retried(failure: RunError['class']): void {
    this.#retries[failure] = (this.#retries[failure] ?? 0) + 1;
    this.#isEmpty = false;
  }

  /** A request to something outside ended. */
  called(result: CallResult): void {
    this.#calls[result] = (this.#calls[result] ?? 0) + 1;
    this.#isEmpty = false;
  }

  /** What was counted since the last time, if there is something and it is time; `isLast`: whatever the time. */
  take(isLast: boolean): RunnerStats | undefined {
    if (this.#isEmpty) return undefined;
    const nowMs = this.#clock.nowMs();
    if (!isLast && nowMs - this.#toldAtMs < EVERY_MS) return undefined;
    const stats = {
      commits: this.#commits,
      committed: this.#committed,
      retries: this.#retries,
      calls: this.#calls,
    };
    this.#toldAtMs = nowMs;
    this.#commits = newBuckets();
    this.#committed = 0;
    this.#retries = {};
    this.#calls = {};
    this.#isEmpty = true;
    return stats;
  }
}

const newBuckets = (): number[] => new Array<number>(COMMIT_BOUNDS.length + 1).fill(0);
