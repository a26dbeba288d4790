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
  /** Mostly there is none or one; the set is made for the second. */
  #listener: (() => void) | undefined;
  #others: Set<() => void> | undefined;

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
    const listeners = [...(this.#listener === undefined ? [] : [this.#listener]), ...(this.#others ?? [])];
    this.#listener = undefined;
    this.#others = undefined;
    for (const listener of listeners) listener();
  }

  throwIfCancelled(): void {
    if (this.#why !== undefined) throw new Cancelled(this.#why);
  }

  /** Calls `listener` once, when cancelled; at once if that has happened. */
  onCancel(listener: () => void): void {
    if (this.#why !== undefined) listener();
    else if (this.#listener === undefined) this.#listener = listener;
    else {
      this.#others ??= new Set();
      this.#others.add(listener);
    }
  }

  /** Takes a listener off. */
  forget(listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
    else this.#others?.delete(listener);
  }

  /** The promise's outcome, or `Cancelled` as soon as that happens. A late rejection of the promise is swallowed. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const listener = (): void => reject(new Cancelled(this.#why ?? ''));
      this.onCancel(listener);
      promise.then(
        (value) => {
          this.forget(listener);
          resolve(value);
        },
        (error: unknown) => {
          this.forget(listener);
          reject(error);
        },
      );
    });
  }

  sleep(clock: Clock, delayMs: number): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.throwIfCancelled();
      const listener = (): void => {
        stop();
        reject(new Cancelled(this.#why ?? ''));
      };
      const stop = clock.after(delayMs, () => {
        this.forget(listener);
        resolve();
      });
      this.onCancel(listener);
    });
  }
}
