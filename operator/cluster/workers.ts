// Workers that take keys from a queue and reconcile them.
//   N1. A reconcile has a deadline and ends with the lead: its signal then aborts.
//   N2. A failure backs its key off; success forgets that. A lost lead is no failure.
//   N3. `stop` hands nothing more out and waits for what is in hand.
//   N4. The event loop turns after each reconcile. One that has nothing to write waits for nothing, and ten thousand of them in a row would keep
//       the lease from being renewed and runners from being heard.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Outcome } from '../reconcile/index.ts';
import type { WorkQueue } from './queue.ts';

export interface WorkersOptions {
  readonly queue: WorkQueue;
  readonly clock: Clock;
  readonly count: number;
  /** Ends with the lead. */
  readonly signal: AbortSignal;
  readonly deadlineMs?: number;
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>;
  readonly failed: (key: string, error: unknown, retryInMs: number) => void;
}

const DEADLINE_MS = 30_000;

export class Workers {
  readonly #options: WorkersOptions;
  #loops: Promise<void>[] = [];

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loops = Array.from({ length: this.#options.count }, () => this.#loop());
  }

  async stop(): Promise<void> {
    this.#options.queue.close();
    await Promise.all(this.#loops);
  }

  async #loop(): Promise<void> {
    const { queue } = this.#options;
    for (;;) {
      const key = await queue.take();
      if (key === undefined) return;
      await this.#reconcile(key);
      queue.done(key);
      await nextTurn(); // N4
    }
  }

  async #reconcile(key: string): Promise<void> {
    const { queue, clock, signal, deadlineMs = DEADLINE_MS, reconcile, failed } = this.#options;
    const controller = new AbortController();
    const end = (): void => controller.abort(signal.reason);
    const cancel = clock.after(deadlineMs, () => controller.abort(new Error(`not done within ${deadlineMs} ms`)));
    signal.addEventListener('abort', end);
    try {
      if (signal.aborted) return;
      const outcome = await reconcile(key, controller.signal);
      queue.forget(key);
      if (outcome.kind === 'lookAgain') queue.addAfter(key, outcome.afterMs);
    } catch (error) {
      if (!signal.aborted) failed(key, error, queue.addAfterFailure(key)); // N2
    } finally {
      cancel();
      signal.removeEventListener('abort', end);
    }
  }
}
