// A time limit that stands still while somebody waits for something that is not counted.
import type { Clock } from '../clock.ts';

export class PausableTimer {
  readonly #clock: Clock;
  readonly #expire: () => void;
  #leftMs: number | undefined;
  #startedAtMs = 0;
  #stopTimer: (() => void) | undefined;
  #pauses = 0;
  #isOver = false;

  /** `limitMs` absent: no limit. */
  constructor(clock: Clock, limitMs: number | undefined, expire: () => void) {
    this.#clock = clock;
    this.#leftMs = limitMs;
    this.#expire = expire;
  }

  start(): void {
    if (this.#leftMs === undefined || this.#isOver || this.#pauses > 0) return;
    this.#startedAtMs = this.#clock.nowMs();
    this.#stopTimer = this.#clock.after(this.#leftMs, () => {
      this.#isOver = true;
      this.#expire();
    });
  }

  stop(): void {
    this.#isOver = true;
    this.#stopTimer?.();
  }

  /** No time passes until `waiting` is settled. */
  async pausedFor<T>(waiting: Promise<T>): Promise<T> {
    this.#pause();
    try {
      return await waiting;
    } finally {
      this.#pauses -= 1;
      this.start();
    }
  }

  #pause(): void {
    this.#pauses += 1;
    if (this.#pauses > 1 || this.#leftMs === undefined || this.#isOver) return;
    this.#stopTimer?.();
    this.#leftMs = Math.max(0, this.#leftMs - (this.#clock.nowMs() - this.#startedAtMs));
  }
}
