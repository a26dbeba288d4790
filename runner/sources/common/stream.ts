// Hands values from callbacks to one reader, in order.

export class Stream<T> {
  readonly #values: T[] = [];
  #ending: { readonly error?: unknown } | undefined;
  #wake: (() => void) | undefined;

  push(value: T): void {
    this.#values.push(value);
    this.#wake?.();
  }

  /** The reader ends once it has read what was pushed. */
  end(): void {
    this.#ending ??= {};
    this.#wake?.();
  }

  /** The reader throws once it has read what was pushed. */
  fail(error: unknown): void {
    this.#ending ??= { error };
    this.#wake?.();
  }

  /** Values until the end. An abort throws the signal's reason at once, whatever is still to be read. */
  async *read(signal: AbortSignal): AsyncGenerator<T, void, undefined> {
    const wake = () => this.#wake?.();
    signal.addEventListener('abort', wake);
    try {
      for (;;) {
        signal.throwIfAborted();
        const [value] = this.#values;
        if (value !== undefined) {
          this.#values.shift();
          yield value;
        } else if (this.#ending !== undefined) {
          if ('error' in this.#ending) throw this.#ending.error;
          return;
        } else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }
}
