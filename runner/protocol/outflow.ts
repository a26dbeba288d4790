// What one end sends on a stream: pushed from outside, pulled by the stream at the pace of the other end.

/** Messages beyond which the stream counts as congested: the other end, or the network, takes them slower than they come. */
const CONGESTED_LENGTH = 8;

export class Outflow<T> implements AsyncIterable<T> {
  #queue: T[] = [];
  #isEnded = false;
  #wasCongested = false;
  #wake: (() => void) | undefined;
  readonly #drained: () => void;

  constructor(drained: () => void) {
    this.#drained = drained;
  }

  get isCongested(): boolean {
    return this.#queue.length >= CONGESTED_LENGTH;
  }

  push(message: T): void {
    if (this.#isEnded) return;
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
          this.#drained();
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
