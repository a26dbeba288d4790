// Ends a watch that gives no sign of life, and one whose reflector stops.
import type { CancelTimer } from '../clock.ts';

/** A signal that aborts when its parent does or when `alive` was not called in time. */
export class WatchSignal {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #arm: (wake: () => void) => CancelTimer;
  #cancel: CancelTimer;
  #isStalled = false;

  /** `arm` starts the timer of one silence. */
  constructor(parent: AbortSignal, arm: (wake: () => void) => CancelTimer) {
    this.#parent = parent;
    this.#arm = arm;
    this.#cancel = arm(this.#stall);
    parent.addEventListener('abort', this.#passOn);
    if (parent.aborted) this.#passOn();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isStalled(): boolean {
    return this.#isStalled;
  }

  alive(): void {
    this.#cancel();
    this.#cancel = this.#arm(this.#stall);
  }

  end(): void {
    this.#cancel();
    this.#parent.removeEventListener('abort', this.#passOn);
  }

  readonly #stall = (): void => {
    this.#isStalled = true;
    this.#controller.abort(new Error('the watch gave no sign of life'));
  };

  readonly #passOn = (): void => this.#controller.abort(this.#parent.reason);
}
