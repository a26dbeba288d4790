// Lets many in at once, or one alone. Who wants to be alone waits until nobody is inside: others pass him meanwhile, so that he holds nobody up,
// but PASSES_MAX times at the most.
import type { Cancellation } from './cancellation.ts';

const PASSES_MAX = 1_000;

interface Waiting {
  readonly isAlone: boolean;
  readonly letIn: () => void;
}

export class Gate {
  #inside = 0;
  #isAlone = false;
  /** Others that went in since somebody has been waiting to be alone. */
  #passes = 0;
  #waiting: Waiting[] = [];

  /** Undefined: inside at once. Who is inside calls `leave`; who is cancelled while he waits does not. */
  enter(isAlone: boolean, cancellation: Cancellation): Promise<void> | undefined {
    if (!this.#hasPlace(isAlone)) return this.#wait(isAlone, cancellation);
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
      if (this.#waiting.includes(waiting)) this.#waiting = this.#waiting.filter((one) => one !== waiting);
      else this.leave();
      this.#letIn();
      throw cancelled;
    }
  }

  /** The many first, in order of arrival. */
  #letIn(): void {
    const inOrder = this.#waiting.toSorted((a, b) => Number(a.isAlone) - Number(b.isAlone));
    for (const waiting of inOrder) {
      if (!this.#hasPlace(waiting.isAlone)) continue;
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      this.#take(waiting.isAlone);
      waiting.letIn();
    }
  }

  #hasPlace(isAlone: boolean): boolean {
    return isAlone ? this.#inside === 0 : !this.#isAlone && this.#passes < PASSES_MAX;
  }

  #take(isAlone: boolean): void {
    this.#inside += 1;
    this.#isAlone = isAlone;
    this.#passes = !isAlone && this.#waiting.some((one) => one.isAlone) ? this.#passes + 1 : 0;
  }
}
