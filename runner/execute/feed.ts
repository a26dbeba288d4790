// Work of one update in its order of entry, with a bounded part of it in memory.
//
//   Q1. Entries come out in the order of their numbers; each once.
//   Q2. At most QUEUE_MAX entries are in memory, whatever the length of the list: what does not fit is read from the store when its turn comes.
import type { StateStore, WorkEntry } from './ports.ts';

const QUEUE_MAX = 2_048;

export class WorkFeed {
  readonly #state: StateStore;
  readonly #update: string;
  #queue: WorkEntry[] = [];
  #at = 0;
  /** Number of the last entry that is or was in the queue. */
  #tail = 0;
  /** Greatest number that is known to be in the store. */
  #newest: number;

  /** `adopted`: the store holds entries of this update already. */
  constructor(state: StateStore, update: string, adopted: boolean) {
    this.#state = state;
    this.#update = update;
    this.#newest = adopted ? 1 : 0;
  }

  /** So many entries, up to this number, were entered just now. They are made only if there is room for them. */
  offer(count: number, lastSeq: number, make: () => readonly WorkEntry[]): void {
    const isCaughtUp = this.#tail >= this.#newest;
    this.#newest = Math.max(this.#newest, lastSeq);
    if (count === 0 || !isCaughtUp || this.#queue.length - this.#at + count > QUEUE_MAX) return;
    this.#compact();
    this.#queue.push(...make());
    this.#tail = lastSeq;
  }

  /** The next entry, if it is in memory. */
  next(): WorkEntry | undefined {
    const entry = this.#queue[this.#at];
    if (entry !== undefined) this.#at += 1;
    return entry;
  }

  /** Whether `load` may find more. */
  get isBehind(): boolean {
    return this.#at >= this.#queue.length && this.#tail < this.#newest;
  }

  /** Reads the next part from the store. */
  async load(): Promise<void> {
    const newest = this.#newest;
    const entries = await this.#state.takeWork(this.#update, this.#tail, QUEUE_MAX);
    this.#compact();
    this.#queue.push(...entries);
    const last = entries.at(-1)?.seq ?? 0;
    const isWhole = entries.length < QUEUE_MAX;
    this.#tail = isWhole ? Math.max(newest, last) : last;
    if (!isWhole) this.#newest = Math.max(this.#newest, last + 1);
  }

  #compact(): void {
    this.#queue = this.#queue.slice(this.#at);
    this.#at = 0;
  }
}
