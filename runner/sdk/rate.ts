// Rate limiter: a token bucket that whoever holds it shares.
//   T1. Within any stretch of t seconds at most burst + rate × t tokens are given out.
//   T2. Strictly in the order of asking: a small wish never overtakes a large one.
//   T3. The bucket holds floor(rate × window) tokens, at least one. A wish above that waits until all of it was earned.
//   T4. A pause (the far side said when to come back) holds everyone up; what was earned until then is kept.

/** The part of a clock that a limiter needs. */
export interface RateClock {
  nowMs(): number;
  after(delayMs: number, wake: () => void): () => void;
}

interface Wish {
  readonly tokens: number;
  readonly grant: () => void;
}

/** Against rounding of the refill; far below any token. */
const EPSILON = 1e-9;

export class RateLimiter {
  readonly #clock: RateClock;
  readonly #burst: number;
  readonly #waiting: Wish[] = [];
  #perSecond: number;
  #tokens: number;
  #filledAtMs: number;
  #pausedUntilMs = 0;
  #stopTimer: (() => void) | undefined;

  /** `perSecond`: tokens a second, above 0. `windowSeconds`: how much may be saved up; 0 spaces single tokens evenly. */
  constructor(perSecond: number, clock: RateClock, windowSeconds = 1) {
    if (!(perSecond > 0 && Number.isFinite(perSecond))) throw new RangeError('the rate must be above 0');
    if (!(windowSeconds >= 0)) throw new RangeError('the window must be 0 or more');
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#burst = Math.max(1, Math.floor(perSecond * windowSeconds));
    this.#tokens = this.#burst;
    this.#filledAtMs = clock.nowMs();
  }

  /** Resolves when the tokens are given; on abort rejects with the signal's reason and lets the next one go on. */
  acquire(tokens = 1, signal?: AbortSignal): Promise<void> {
    if (!(tokens >= 0)) return Promise.reject(new RangeError('tokens must be 0 or more'));
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const wish: Wish = {
        tokens,
        grant: () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      const abort = () => {
        this.#waiting.splice(this.#waiting.indexOf(wish), 1);
        reject(signal?.reason);
        this.#serve();
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.#waiting.push(wish);
      this.#serve();
    });
  }

  /** Gives nothing out before `untilMs` (milliseconds of the epoch); a shorter pause does not end a longer one. */
  pauseUntil(untilMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs);
    this.#serve();
  }

  /** How long the pause lasts from now; 0: there is none. */
  pausedForMs(): number {
    return Math.max(0, this.#pausedUntilMs - this.#clock.nowMs());
  }

  /** Another rate from now on, such as this runner's part of a rate that several share. */
  setRate(perSecond: number): void {
    if (!(perSecond > 0 && Number.isFinite(perSecond))) throw new RangeError('the rate must be above 0');
    this.#refill();
    this.#perSecond = perSecond;
    this.#serve();
  }

  /** Those that wait for tokens. */
  get waiting(): number {
    return this.#waiting.length;
  }

  #serve(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#refill();
    for (let head = this.#waiting[0]; head !== undefined; head = this.#waiting[0]) {
      const waitMs = Math.max(this.pausedForMs(), this.#earningMs(head.tokens));
      if (waitMs > 0) {
        this.#stopTimer = this.#clock.after(waitMs, () => this.#serve());
        return;
      }
      this.#waiting.shift();
      this.#tokens -= head.tokens;
      this.#refill();
      head.grant();
    }
  }

  #earningMs(tokens: number): number {
    const missing = tokens - this.#tokens;
    return missing <= EPSILON ? 0 : Math.ceil((missing / this.#perSecond) * 1000);
  }

  /** Only the first in line may earn more than the bucket holds. */
  #refill(): void {
    const nowMs = this.#clock.nowMs();
    const room = Math.max(this.#burst, this.#waiting[0]?.tokens ?? 0);
    const earned = (Math.max(0, nowMs - this.#filledAtMs) / 1000) * this.#perSecond;
    this.#tokens = Math.min(room, this.#tokens + earned);
    this.#filledAtMs = nowMs;
  }
}
