// How many statuses a second the whole operator may write. What is urgent never waits for it, but is counted: it delays what can wait.
import type { Clock } from '../../clock.ts';

export interface WriteRate {
  readonly perSecond: number;
  /** Statuses that may be written at once after a quiet time. */
  readonly burst: number;
}

export class WriteBudget {
  readonly #clock: Clock;
  readonly #rate: WriteRate;
  #left: number;
  #atMs: number;

  constructor(clock: Clock, rate: WriteRate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#left = rate.burst;
    this.#atMs = clock.nowMs();
  }

  /** Milliseconds until something that can wait may be written; 0: now. */
  get waitMs(): number {
    this.#refill();
    return this.#left >= 1 ? 0 : Math.ceil(((1 - this.#left) * 1000) / this.#rate.perSecond);
  }

  /** A status is written. A storm of urgent ones leaves no debt behind. */
  spend(): void {
    this.#refill();
    this.#left = Math.max(0, this.#left - 1);
  }

  #refill(): void {
    const nowMs = this.#clock.nowMs();
    const { perSecond, burst } = this.#rate;
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#atMs) * perSecond) / 1000);
    this.#atMs = nowMs;
  }
}
