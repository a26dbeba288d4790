// How many statuses a second the whole operator may write. What is urgent never waits for it, but is counted: it delays what can wait.
import type { Clock } from '../../clock.ts';
import { type Rate, TokenBucket } from '../token-bucket.ts';

export class WriteBudget {
  readonly #bucket: TokenBucket;

  constructor(clock: Clock, rate: Rate) {
    this.#bucket = new TokenBucket(clock, rate);
  }

  /** Milliseconds until something that can wait may be written; 0: now. */
  get waitMs(): number {
    return Math.ceil(this.#bucket.untilMs(1));
  }

  /** A status is written. A storm of urgent ones leaves no debt behind. */
  spend(): void {
    this.#bucket.take(0);
  }
}
