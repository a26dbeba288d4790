// Takes turns by name: what waits for a name goes on one at a time, in order of asking.
import type { Cancellation } from './cancellation.ts';

export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Resolves when it is one's turn, with what ends it. A wait that is cancelled leaves no gap and holds nobody up. */
  async take(name: string, cancellation: Cancellation): Promise<() => void> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const { promise: mine, resolve } = Promise.withResolvers<void>();
    const chain = before.then(() => mine);
    this.#last.set(name, chain);
    const end = (): void => {
      resolve();
      if (this.#last.get(name) === chain) this.#last.delete(name);
    };
    try {
      await cancellation.race(before);
    } catch (cancelled) {
      end();
      throw cancelled;
    }
    return end;
  }
}
