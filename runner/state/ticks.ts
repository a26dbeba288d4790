// The store's clock: never the same time twice, so that "seen after the listing began" is exact. Where the machine's clock stands
// still or goes back, fractions of a millisecond break ties; they are exact in a double for the next centuries.
import type { Clock } from '../clock.ts';

export const TICK_MS = 1 / 1024;

export class Ticks {
  readonly #clock: Clock;
  #lastMs: number;

  constructor(clock: Clock, lastMs = 0) {
    this.#clock = clock;
    this.#lastMs = lastMs;
  }

  get lastMs(): number {
    return this.#lastMs;
  }

  next(): number {
    this.#lastMs = Math.max(this.#clock.nowMs(), this.#lastMs + TICK_MS);
    return this.#lastMs;
  }
}
