// What one end sends on a stream: pushed from outside, pulled by the stream at the pace of the other end.

/** Messages beyond which the stream counts as congested: the other end, or the network, takes them slower than they come. */
const CONGESTED_LENGTH = 8;
/**
 * Messages beyond which nothing goes out any more. A stream that is congested gets little but answers to what the other end asks, and more than
 * was ever on its way at once is not said again: so many wait only for an end that asks and does not read.
 */
const UNREAD_MAX = 16_384;

export interface OutflowEvents {
  /** It was congested, and all that waited has been taken. */
  drained(): void;
  /** The other end does not read: what waited is dropped, and nothing goes out any more. */
  unread(): void;
}

export class Outflow<T> implements AsyncIterable<T> {
  #queue: T[] = [];
  #isEnded = false;
  #wasCongested = false;
  #wake: (() => void) | undefined;
  readonly #events: OutflowEvents;

  constructor(events: OutflowEvents) {
    this.#events = events;
  }

  get isCongested(): boolean {
    return this.#queue.length >= CONGESTED_LENGTH;
  }

  push(message: T): void {
    if (this.#isEnded) return;
    if (this.#queue.length === UNREAD_MAX) {
      this.#queue = [];
      this.end();
      this.#events.unread();
      return;
    }
    this.#queue.push(message);
    this.#wasCongested ||= this.isCongested;
    this.#wake?.();
  }

  /** What was pushed goes out, nothing more. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const message = this.#queue.shift();
      if (message !== undefined) {
        if (this.#wasCongested && this.#queue.length === 0) {
          this.#wasCongested = false;
          this.#events.drained();
        }
        yield message;
      } else if (this.#isEnded) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    }
  }
}
