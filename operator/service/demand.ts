// Looks at Pipelines because what waits or executes changed: with each small cycle it does so several times, and a look costs more than the cycle.
// The first change of a quiet Pipeline is looked at now, those that follow once every `LOOK_MS` together.
import type { Clock } from '../clock.ts';

interface Queue {
  add(key: string): void;
  addAfter(key: string, delayMs: number): void;
}

const LOOK_MS = 1_000;

export class DemandLooks {
  readonly #queue: Queue;
  readonly #clock: Clock;
  /** When a Pipeline is, or was, looked at. */
  readonly #atMs = new Map<string, number>();

  constructor(queue: Queue, clock: Clock) {
    this.#queue = queue;
    this.#clock = clock;
  }

  changed(key: string): void {
    const nowMs = this.#clock.nowMs();
    const dueMs = (this.#atMs.get(key) ?? Number.NEGATIVE_INFINITY) + LOOK_MS;
    if (dueMs - LOOK_MS > nowMs) return; // a look is coming
    this.#atMs.set(key, Math.max(nowMs, dueMs));
    if (dueMs <= nowMs) this.#queue.add(key);
    else this.#queue.addAfter(key, dueMs - nowMs);
  }

  forget(key: string): void {
    this.#atMs.delete(key);
  }
}
