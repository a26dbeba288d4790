// A clock that stands still until a test moves it. Timers fire in the order of their due time, and those of one instant
// in the order in which they were set; a timer that a timer sets for the same instant fires within the same move.
import type { CancelTimer, Clock } from '../../runner/clock.ts';

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  /** Undefined once fired or cancelled; a cancelled timer stays in the heap until it comes up. */
  wake: (() => void) | undefined;
}

const isBefore = (a: Timer, b: Timer): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);

export class VirtualClock implements Clock {
  #nowMs: number;
  #order = 0;
  #pending = 0;
  readonly #heap: Timer[] = [];

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, wake: () => void): CancelTimer {
    const timer: Timer = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, wake };
    this.#push(timer);
    this.#pending++;
    return () => {
      if (timer.wake !== undefined) this.#pending--;
      timer.wake = undefined;
    };
  }

  /** Timers that are set and have not fired. */
  pending(): number {
    return this.#pending;
  }

  /** When the next timer is due; undefined: none is set. */
  nextDueMs(): number | undefined {
    for (let top = this.#heap[0]; top !== undefined; top = this.#heap[0]) {
      if (top.wake !== undefined) return top.dueMs;
      this.#pop();
    }
    return undefined;
  }

  /** Moves time to the next timer and fires that one; false: no timer is set. */
  step(): boolean {
    const dueMs = this.nextDueMs();
    if (dueMs === undefined) return false;
    this.#nowMs = Math.max(this.#nowMs, dueMs);
    this.#fire();
    return true;
  }

  /** Moves time on by `deltaMs`, firing what comes due on the way. */
  advance(deltaMs: number): void {
    const untilMs = this.#nowMs + deltaMs;
    for (let dueMs = this.nextDueMs(); dueMs !== undefined && dueMs <= untilMs; dueMs = this.nextDueMs()) {
      this.#nowMs = Math.max(this.#nowMs, dueMs);
      this.#fire();
    }
    this.#nowMs = untilMs;
  }

  /**
   * As `advance`, but lets promise callbacks run before the first timer, between timers and after the last, for code that awaits.
   * `turns`: how many turns of the event loop to give them each time.
   */
  async advanceAsync(deltaMs: number, turns = 1): Promise<void> {
    const untilMs = this.#nowMs + deltaMs;
    await settle(turns);
    for (let dueMs = this.nextDueMs(); dueMs !== undefined && dueMs <= untilMs; dueMs = this.nextDueMs()) {
      this.#nowMs = Math.max(this.#nowMs, dueMs);
      this.#fire();
      await settle(turns);
    }
    this.#nowMs = untilMs;
  }

  #fire(): void {
    const timer = this.#pop();
    const wake = timer?.wake;
    if (timer === undefined || wake === undefined) return;
    timer.wake = undefined;
    this.#pending--;
    wake();
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(timer);
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (!isBefore(timer, heap[up]!)) break;
      heap[at] = heap[up]!;
      at = up;
    }
    heap[at] = timer;
  }

  #pop(): Timer | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}

/** Lets pending promise callbacks run: `turns` turns of the event loop, no time passes. */
export async function settle(turns = 1): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
