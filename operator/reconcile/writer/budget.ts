// How many statuses a second the whole operator may write: as many as the API server takes with ease.
//   B1. What is urgent never waits for the budget, but is counted: it delays what can wait.
//   B2. The rate grows with each answer that came quickly, up to `perSecondMax`, and is halved, once a second at most and down to
//       `perSecondMin`, where one came slowly or not at all. So it doubles in two seconds where all is well, and ten thousand statuses
//       that change at once neither take minutes nor become a storm. Refusals for load (429) are tried again below, and so are slow here.
import type { Clock } from '../../clock.ts';
import { TokenBucket } from '../token-bucket.ts';

export interface WriteRate {
  /** To begin with. */
  readonly perSecond: number;
  readonly perSecondMin: number;
  readonly perSecondMax: number;
  /** How many may go at once after a quiet time. */
  readonly burst: number;
}

/** An API server of one core answers within 10 to 50 ms where it has nothing else to do; from half a second on it has. */
const QUICK_MS = 150;
const SLOW_MS = 500;
const GROWTH = 1.02;
const SHRINK = 0.5;
const SHRINK_EVERY_MS = 1_000;

export class WriteBudget {
  readonly #clock: Clock;
  readonly #rate: WriteRate;
  readonly #bucket: TokenBucket;
  #perSecond: number;
  #shrunkAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, rate: WriteRate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#perSecond = rate.perSecond;
    this.#bucket = new TokenBucket(clock, rate);
  }

  /** Statuses a second that may be written now. */
  get perSecond(): number {
    return this.#perSecond;
  }

  /** Milliseconds until something that can wait may be written; 0: now. */
  get waitMs(): number {
    return Math.ceil(this.#bucket.untilMs(1));
  }

  /** A status is written. A storm of urgent ones leaves no debt behind. */
  spend(): void {
    this.#bucket.take(0);
  }

  /** A write was answered after so long; `isFailure`: by nothing, or by a refusal that another time may not meet (B2). */
  answered(tookMs: number, isFailure: boolean): void {
    const { perSecondMin, perSecondMax } = this.#rate;
    if (isFailure || tookMs >= SLOW_MS) this.#shrink(perSecondMin);
    else if (tookMs <= QUICK_MS) this.#set(Math.min(perSecondMax, this.#perSecond * GROWTH));
  }

  #shrink(perSecondMin: number): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#shrunkAtMs < SHRINK_EVERY_MS) return; // the answers of one bad moment count once
    this.#shrunkAtMs = nowMs;
    this.#set(Math.max(perSecondMin, this.#perSecond * SHRINK));
  }

  #set(perSecond: number): void {
    this.#perSecond = perSecond;
    this.#bucket.refillWith(perSecond);
  }
}
