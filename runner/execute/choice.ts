// Which runs of a traced update tell where their time went. An update may have a million runs; its trace is for people.
//   C1. Told: every run that failed or was parked, the slowest ones so far, and a sample of the rest that thins out as more come.
//   C2. Of n runs about SMALL + 6 × log2(n ÷ SMALL) are told, FAILED_MAX failures on top: of a small update all of them. What is not told is counted by whoever hears of the end.
//   C3. Each runner chooses by itself; nothing is kept of a run that is not told.
import type { RunOrder, RunOutcome, RunTrace } from '../protocol/index.ts';
import type { RunTimes } from './times.ts';

/** Of an update with no more runs, all are told. */
const SMALL = 32;
/** Runs that are told before the sample thins out again. */
const SAMPLE = 2;
const SLOWEST = 5;
const FAILED_MAX = 500;
/** Updates that are remembered; of one that was forgotten the sample begins anew. */
const UPDATES_MAX = 1_024;

export class Choice {
  readonly #updates = new Map<string, Chosen>();
  /** The one that was asked for last: runs of one update come in a row. */
  #last: { readonly update: string; readonly chosen: Chosen } | undefined;

  /** What a run that ended so tells, if it is told. */
  traceOf(order: RunOrder, times: RunTimes, outcome: RunOutcome): RunTrace | undefined {
    const isRoot = order.parentRun === undefined;
    const failed = outcome.kind === 'failed' || outcome.kind === 'parked';
    return this.tells(order.update, { isRoot, failed, durationMs: times.durationMs }) ? times.taken() : undefined;
  }

  /** Whether a run that ended so is told. */
  tells(
    update: string,
    run: { readonly isRoot: boolean; readonly failed: boolean; readonly durationMs: number },
  ): boolean {
    if (run.isRoot) return true;
    const chosen = this.#of(update);
    return run.failed ? chosen.tellsFailed() : chosen.tells(run.durationMs);
  }

  #of(update: string): Chosen {
    if (this.#last?.update !== update) this.#last = { update, chosen: this.#found(update) };
    return this.#last.chosen;
  }

  #found(update: string): Chosen {
    const known = this.#updates.get(update);
    if (known !== undefined) return known;
    if (this.#updates.size >= UPDATES_MAX) {
      const [oldest] = this.#updates.keys();
      if (oldest !== undefined) this.#updates.delete(oldest);
    }
    const chosen = new Chosen();
    this.#updates.set(update, chosen);
    return chosen;
  }
}

/** The choice within one update. */
class Chosen {
  #seen = 0;
  #failed = 0;
  /** Every so many runs one is told. */
  #stride = 1;
  #told = 0;
  /** When the stride doubles. */
  #thinsAt = SMALL;
  /** Durations of the slowest runs, shortest first. */
  readonly #slowest: number[] = [];

  tellsFailed(): boolean {
    return ++this.#failed <= FAILED_MAX;
  }

  tells(durationMs: number): boolean {
    const isSlow = this.#isSlow(durationMs);
    return this.#isSampled() || isSlow;
  }

  #isSampled(): boolean {
    if (this.#seen++ % this.#stride !== 0) return false;
    if (++this.#told < this.#thinsAt) return true;
    this.#stride *= 2;
    this.#thinsAt += SAMPLE;
    return true;
  }

  #isSlow(durationMs: number): boolean {
    const slowest = this.#slowest;
    const isFull = slowest.length === SLOWEST;
    if (isFull && durationMs <= slowest[0]!) return false;
    if (isFull) slowest.shift();
    const at = slowest.findIndex((other) => other > durationMs);
    slowest.splice(at < 0 ? slowest.length : at, 0, durationMs);
    return isFull;
  }
}
