// How many requests a second may be sent.
import type { Clock } from '../clock.ts';
import { type Rate, TokenBucket } from '../reconcile/index.ts';
import { pause } from './pause.ts';

export class RateLimit {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#bucket = new TokenBucket(clock, rate);
  }

  /** Takes a permission, as soon as there is one; those that wait go in the order in which they asked. Ends early when the signal aborts. */
  async take(signal: AbortSignal): Promise<void> {
    this.#bucket.take(); // below 0: who waits
    const waitMs = this.#bucket.untilMs(0);
    if (waitMs > 0) await pause(this.#clock, waitMs, signal);
  }
}
