// How many requests a second may be sent: a bucket of permissions that refills by the clock.
import type { Clock } from '../clock.ts';
import { pause } from './pause.ts';

export interface Rate {
  readonly perSecond: number;
  /** Requests that may go at once after a quiet time. */
  readonly burst: number;
}

export class RateLimit {
  readonly #clock: Clock;
  readonly #rate: Rate;
  #permits: number;
  #atMs: number;

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#permits = rate.burst;
    this.#atMs = clock.nowMs();
  }

  /** Takes a permission, as soon as there is one; those that wait go in the order in which they asked. Ends early when the signal aborts. */
  async take(signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const { perSecond, burst } = this.#rate;
    this.#permits = Math.min(burst, this.#permits + ((nowMs - this.#atMs) * perSecond) / 1000) - 1; // below 0: who waits
    this.#atMs = nowMs;
    if (this.#permits < 0) await pause(this.#clock, (-this.#permits * 1000) / perSecond, signal);
  }
}
