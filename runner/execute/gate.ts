// Lets many in at once, or one alone. In order of arrival, so that neither waits for ever.
import type { Cancellation } from './cancellation.ts';

interface Waiting {
  readonly isAlone: boolean;
  readonly letIn: () => void;
}

export class Gate {
  #inside = 0;
  #isAlone = false;
  readonly #waiting: Waiting[] = [];

  /** Undefined: inside at once. Who is inside calls `leave`; who is cancelled while he waits does not. */
  enter(isAlone: boolean, cancellation: Cancellation): Promise<void> | undefined {
    if (this.#waiting.length > 0 || !this.#hasPlace(isAlone)) return this.#wait(isAlone, cancellation);
    this.#take(isAlone);
    return undefined;
  }

  leave(): void {
    this.#inside -= 1;
    this.#isAlone = false;
    this.#letIn();
  }

  async #wait(isAlone: boolean, cancellation: Cancellation): Promise<void> {
    const { promise, resolve: letIn } = Promise.withResolvers<void>();
    const waiting = { isAlone, letIn };
    this.#waiting.push(waiting);
    try {
      await cancellation.race(promise);
    } catch (cancelled) {
      const at = this.#waiting.indexOf(waiting);
      if (at < 0) this.leave();
      else this.#waiting.splice(at, 1);
      this.#letIn();
      throw cancelled;
    }
  }

  #letIn(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#hasPlace(next.isAlone); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#take(next.isAlone);
      next.letIn();
    }
  }

  #hasPlace(isAlone: boolean): boolean {
    return isAlone ? this.#inside === 0 : !this.#isAlone;
  }

  #take(isAlone: boolean): void {
    this.#inside += 1;
    this.#isAlone = isAlone;
  }
}
