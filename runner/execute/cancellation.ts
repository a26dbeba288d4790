// Cancellation of one run. Every wait of a run goes through `race` or `sleep`, so that a run that is cancelled ends at once, whatever the
// code that it waits for does with its signal (E7 in engine.ts). An AbortSignal is made only for those that ask for one.
import type { Clock } from '../clock.ts';

/** Thrown by waits of a run that was cancelled. */
export class Cancelled extends Error {
  readonly why: string;

  constructor(why: string) {
    super(`cancelled: ${why}`);
    this.name = 'Cancelled';
    this.why = why;
  }
}

export class Cancellation {
  #why: string | undefined;
  #controller: AbortController | undefined;
  readonly #listeners = new Set<() => void>();

  get isCancelled(): boolean {
    return this.#why !== undefined;
  }

  /** For code that wants a signal; the reason is a `Cancelled`. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#why !== undefined) this.#controller.abort(new Cancelled(this.#why));
    }
    return this.#controller.signal;
  }

  /** The first reason stays. */
  cancel(why: string): void {
    if (this.#why !== undefined) return;
    this.#why = why;
    this.#controller?.abort(new Cancelled(why));
    for (const listener of [...this.#listeners]) listener();
    this.#listeners.clear();
  }

  throwIfCancelled(): void {
    if (this.#why !== undefined) throw new Cancelled(this.#why);
  }

  /** Calls `listener` once, when cancelled; at once if that has happened. Answers what takes the listener off. */
  onCancel(listener: () => void): () => void {
    if (this.#why !== undefined) {
      listener();
      return () => {};
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The promise's outcome, or `Cancelled` as soon as that happens. A late rejection of the promise is swallowed. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const forget = this.onCancel(() => reject(new Cancelled(this.#why ?? '')));
      promise.then(
        (value) => {
          forget();
          resolve(value);
        },
        (error: unknown) => {
          forget();
          reject(error);
        },
      );
    });
  }

  sleep(clock: Clock, delayMs: number): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const forget = this.onCancel(() => {
        stop();
        reject(new Cancelled(this.#why ?? ''));
      });
      const stop = clock.after(delayMs, () => {
        forget();
        resolve();
      });
      if (this.#why !== undefined) stop();
    });
  }
}
