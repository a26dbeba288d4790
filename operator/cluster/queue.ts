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

interface Waiting {
  readonly key: string;
  /** Time of adding less the head start: the smallest goes first. */
  rank: number;
  readonly addedMs: number;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #ready = new Map<string, Waiting>();
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
    const nowMs = this.#clock.nowMs();
    const rank = nowMs - HEAD_START_MS[urgency];
    const known = this.#ready.get(key);
    if (known !== undefined) known.rank = Math.min(known.rank, rank);
    else this.#ready.set(key, { key, rank, addedMs: nowMs });
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
    this.#ready.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  metrics(): QueueMetrics {
    const { size: depth } = this.#ready;
    return { depth, delayed: this.#delayed.size, working: this.#working.size, retries: this.#retries };
  }

  #hand(): void {
    while (this.#takers.length > 0 && this.#ready.size > 0) {
      const key = this.#mostUrgent();
      this.#ready.delete(key);
      this.#working.add(key);
      this.#takers.shift()!(key);
    }
  }

  /** Linear in the keys that wait: a queue is drained by a few workers and seldom holds more than a relist. */
  #mostUrgent(): string {
    let best: Waiting | undefined;
    for (const waiting of this.#ready.values()) if (best === undefined || waiting.rank < best.rank) best = waiting;
    return best!.key;
  }
}

function moreUrgent(a: Urgency | undefined, b: Urgency): Urgency {
  return a === undefined || HEAD_START_MS[b] > HEAD_START_MS[a] ? b : a;
}
