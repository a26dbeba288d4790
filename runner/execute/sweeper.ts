// Lets go of memo entries that nothing uses any more, now and then, after a cycle.
import type { Clock } from '../clock.ts';
import type { StateStore } from './ports.ts';

/** A branch that is switched back within this time costs no call. */
const MEMO_AGE_MAX_MS = 7 * 24 * 3_600_000;
const SWEEP_EVERY_MS = 3_600_000;

export class Sweeper {
  readonly #state: StateStore;
  readonly #clock: Clock;
  #sweptAtMs = Number.NEGATIVE_INFINITY;

  constructor(state: StateStore, clock: Clock) {
    this.#state = state;
    this.#clock = clock;
  }

  /** Never rejects: what stays is collected an hour later. */
  async sweep(): Promise<void> {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#sweptAtMs < SWEEP_EVERY_MS) return;
    this.#sweptAtMs = nowMs;
    await this.#state.memo.collect(MEMO_AGE_MAX_MS).catch(() => {});
  }
}
