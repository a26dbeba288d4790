// The work queue of a controller: keys that are to be looked at.
//
//   Q1. A key is queued once, however often it is added; added while it is worked on, it is worked on again afterwards.
//   Q2. One key is never in two workers' hands.
//   Q3. The more urgent key goes first, but one that waited long enough is never overtaken for ever (ageing).
//   Q4. Failures of a key back off on their own, from 100 ms to 5 minutes; success forgets them.
import type { CancelTimer, Clock } from '../clock.ts';
import { jitteredBackoff } from './pause.ts';

/** How urgent: what a user changed, what our own objects changed, what only has to be looked at some time. */
export type Urgency = 'user' | 'child' | 'routine';

/** By how much a key may be overtaken by more urgent ones, in milliseconds of waiting (Q3). */
const HEAD_START_MS: Record<Urgency, number> = { user: 10_000, child: 5_000, routine: 0 };
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 300_000;

export interface QueueMetrics {
  readonly depth: number;
  readonly delayed: number;
  readonly working: number;
  readonly retries: number;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: () => number;
  /** By urgency, keys in the order in which they were added with their ranks: time of adding less the head start. The smallest goes first. */
  readonly #ready: Readonly<Record<Urgency, Map<string, number>>> = {
    user: new Map(),
    child: new Map(),
    routine: new Map(),
  };
  readonly #delayed = new Map<string, { readonly cancel: CancelTimer; readonly atMs: number }>();
  readonly #working = new Set<string>();
  readonly #dirty = new Map<string, Urgency>();
  readonly #failures = new Map<string, number>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #isClosed = false;
  #retries = 0;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  add(key: string, urgency: Urgency = 'child'): void {
    if (this.#isClosed) return;
    if (this.#working.has(key)) {
      this.#dirty.set(key, moreUrgent(this.#dirty.get(key), urgency)); // Q1, Q2
      return;
    }
    const rank = this.#clock.nowMs() - HEAD_START_MS[urgency];
    const place = this.#queues.find((queue) => queue.has(key));
    if (place !== undefined && place.get(key)! <= rank) return;
    place?.delete(key);
    this.#ready[urgency].set(key, rank);
    this.#hand();
  }

  /** Adds a key later; an earlier wish for the same key stays. */
  addAfter(key: string, delayMs: number, urgency: Urgency = 'routine'): void {
    const atMs = this.#clock.nowMs() + delayMs;
    const known = this.#delayed.get(key);
    if (this.#isClosed || (known !== undefined && known.atMs <= atMs)) return;
    known?.cancel();
    const wake = (): void => {
      this.#delayed.delete(key);
      this.add(key, urgency);
    };
    this.#delayed.set(key, { atMs, cancel: this.#clock.after(delayMs, wake) });
  }

  /** Adds a key after its own back-off (Q4); answers how long that is. */
  addAfterFailure(key: string): number {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    this.#retries++;
    const ceilingMs = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (failures - 1));
    const delayMs = ceilingMs / 2 + jitteredBackoff(1, ceilingMs / 2, BACKOFF_MAX_MS, this.#random);
    this.addAfter(key, delayMs);
    return delayMs;
  }

  /** The key is well: its failures count no more. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The next key, as soon as there is one; undefined once the queue is closed. The taker must call `done`. */
  take(): Promise<string | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#hand();
    });
  }

  done(key: string): void {
    this.#working.delete(key);
    const urgency = this.#dirty.get(key);
    this.#dirty.delete(key);
    if (urgency !== undefined) this.add(key, urgency);
  }

  /** Nothing more is handed out; takers get undefined. Keys in hand end by themselves. */
  close(): void {
    this.#isClosed = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    for (const queue of this.#queues) queue.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  metrics(): QueueMetrics {
    return { depth: this.#depth, delayed: this.#delayed.size, working: this.#working.size, retries: this.#retries };
  }

  get #queues(): readonly Map<string, number>[] {
    return Object.values(this.#ready);
  }

  get #depth(): number {
    return this.#queues.reduce((sum, { size }) => sum + size, 0);
  }

  #hand(): void {
    while (this.#takers.length > 0) {
      const key = this.#takeMostUrgent();
      if (key === undefined) return;
      this.#working.add(key);
      this.#takers.shift()!(key);
    }
  }

  /** Ranks of one urgency only grow, so the smallest of all is the first of one of them. */
  #takeMostUrgent(): string | undefined {
    let best: { readonly key: string; readonly rank: number; readonly queue: Map<string, number> } | undefined;
    for (const queue of this.#queues) {
      const [first] = queue;
      if (first !== undefined && (best === undefined || first[1] < best.rank))
        best = { key: first[0], rank: first[1], queue };
    }
    best?.queue.delete(best.key);
    return best?.key;
  }
}

function moreUrgent(a: Urgency | undefined, b: Urgency): Urgency {
  return a === undefined || HEAD_START_MS[b] > HEAD_START_MS[a] ? b : a;
}
