// How often something may be done: permissions that refill by the clock.
import type { Clock } from '../clock.ts';

export interface Rate {
  readonly perSecond: number;
  /** How many may go at once after a quiet time. */
  readonly burst: number;
}

export class TokenBucket {
  readonly #clock: Clock;
  readonly #rate: Rate;
  #left: number;
  #atMs: number;

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#left = rate.burst;
    this.#atMs = clock.nowMs();
  }

  /** Milliseconds until as many permissions are there; 0: now. */
  untilMs(permissions: number): number {
    this.#refill();
    return (Math.max(0, permissions - this.#left) * 1000) / this.#rate.perSecond;
  }

  /** Takes a permission, also one that is not there yet. `floor`: the debt that may be left, as a number not above 0. */
  take(floor = Number.NEGATIVE_INFINITY): void {
    this.#refill();
    this.#left = Math.max(floor, this.#left - 1);
  }

  #refill(): void {
    const nowMs = this.#clock.nowMs();
    const { perSecond, burst } = this.#rate;
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#atMs) * perSecond) / 1000);
    this.#atMs = nowMs;
  }
}
