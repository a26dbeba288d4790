// The source's end of its helper thread: starts it at first use, hands out jobs, and turns the thread's death into errors.
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { CancelTimer, Clock } from '../../clock.ts';
import { StepError } from '../../sdk/index.ts';
import { workerUrl } from '../../worker-url.ts';
import type { Ask, Say } from './messages.ts';
import type { DirectorySettings } from './settings.ts';

/** A thread without a job is kept this long: cycles of a short interval share it, and a runner of many sources does not hold many. */
const IDLE_MAX_MS = 60_000;

export interface HelperOptions {
  readonly clock: Clock;
  readonly cacheDir: string;
}

type Listener = (message: Say) => void;

export class Helper {
  readonly #settings: DirectorySettings;
  readonly #options: HelperOptions;
  readonly #jobs = new Map<number, Listener>();
  #worker: Worker | undefined;
  #nextJob = 1;
  #cancelRest: CancelTimer = () => {};

  constructor(settings: DirectorySettings, options: HelperOptions) {
    this.#settings = settings;
    this.#options = options;
  }

  /** Starts a job; everything that the helper says about it goes to `listener`. The thread keeps the process alive while jobs are open. */
  start(kind: 'list' | 'watch', listener: Listener): number {
    this.#cancelRest();
    const worker = this.#ensure();
    const job = this.#nextJob++;
    this.#jobs.set(job, listener);
    worker.ref();
    worker.postMessage({ kind, job } satisfies Ask);
    return job;
  }

  more(job: number): void {
    this.#worker?.postMessage({ kind: 'more', job } satisfies Ask);
  }

  /** Ends a job; nothing more is heard of it. Ending it twice does nothing. */
  stop(job: number): void {
    if (!this.#jobs.delete(job)) return;
    this.#worker?.postMessage({ kind: 'stop', job } satisfies Ask);
    if (this.#jobs.size > 0) return;
    this.#worker?.unref();
    this.#cancelRest();
    this.#cancelRest = this.#options.clock.after(IDLE_MAX_MS, () => void this.close());
  }

  /** Ends the thread and fails what is open; a later job starts another. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#cancelRest();
    this.#failAll('the source was closed');
    await worker?.terminate();
  }

  #ensure(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(workerUrl(import.meta.url, './helper-thread.ts', 'directory-worker'), {
      workerData: this.#settings,
      // Compiled code is kept from run to run: from the sources a thread then starts in a third of the time.
      env: { NODE_COMPILE_CACHE: join(this.#options.cacheDir, 'compiled'), ...process.env },
      name: 'fairlead-directory',
    });
    worker.unref();
    worker.on('message', (message: Say) => this.#jobs.get(message.job)?.(message));
    worker.on('error', (error) => this.#lost(worker, error.message));
    worker.on('exit', () => this.#lost(worker, 'it ended'));
    this.#worker = worker;
    return worker;
  }

  #lost(worker: Worker, why: string): void {
    if (this.#worker === worker) this.#failAll(`the thread that reads ${this.#settings.root} was lost: ${why}`);
  }

  #failAll(message: string): void {
    this.#worker = undefined;
    const listeners = [...this.#jobs];
    this.#jobs.clear();
    for (const [job, listener] of listeners) listener({ kind: 'failed', job, class: 'transient', message });
  }
}

export const failureOf = (message: Say & { kind: 'failed' }): StepError =>
  new StepError(message.class, message.message);
