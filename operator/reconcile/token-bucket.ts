// How often something may be done: permissions that refill by the clock.
import type { Clock } from '../clock.ts';

export interface Rate {
  readonly perSecond: number;
  /** How many may go at once after a quiet time. */
  readonly burst: number;
}

export class TokenBucket {
  readonly #clock: Clock;
  readonly #burst: number;
  #perSecond: number;
  #left: number;
  #atMs: number;

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#burst = rate.burst;
    this.#perSecond = rate.perSecond;
    this.#left = rate.burst;
    this.#atMs = clock.nowMs();
  }

  /** Milliseconds until as many permissions are there; 0: now. */
  untilMs(permissions: number): number {
    this.#refill();
    return (Math.max(0, permissions - this.#left) * 1000) / this.#perSecond;
  }

  /** Takes a permission, also one that is not there yet. `floor`: the debt that may be left, as a number not above 0. */
  take(floor = Number.NEGATIVE_INFINITY): void {
    this.#refill();
    this.#left = Math.max(floor, this.#left - 1);
  }

  /** From now on so many come a second. */
  refillWith(perSecond: number): void {
    this.#refill();
    this.#perSecond = perSecond;
  }

  #refill(): void {
    const nowMs = this.#clock.nowMs();
    this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#atMs) * this.#perSecond) / 1000);
    this.#atMs = nowMs;
  }
}
