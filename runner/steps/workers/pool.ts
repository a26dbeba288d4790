// The pool of worker threads: CPU-heavy work of the steps runs here, apart from the thread that serves the engine.
// Owns:   threads, the queue, the time limit of a task, replacing a thread that ended.
// Leaves: what a task does (`worker.ts`), batching (`sdk`), retrying (the engine).
//   W1. Tasks start in the order in which they were asked for; no thread is started before there is a task for it.
//   W2. A thread holds at most PREFETCH tasks, so that it need not wait while the main thread is busy.
//   W3. A thread that crashes, runs out of memory or exceeds the time limit takes down only the task that it was
//       executing; the tasks behind it go to other threads, at the front of the queue.
//   W4. An aborted task settles at once. Its thread finishes it unseen, or is ended by the time limit.
//   W5. Idle threads do not keep the process alive; busy ones do.
import { availableParallelism } from 'node:os';
import { type Transferable, Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../../clock.ts';
import { StepError } from '../../sdk/index.ts';
import { workerUrl } from '../../worker-url.ts';
import type { TaskOrder, TaskReply } from './messages.ts';

/** Enough that a thread stays busy through a commit of the main thread; few enough that a crash moves little work. */
const PREFETCH = 4;

export interface TaskOptions {
  /** For messages: what is worked on, such as `src/main.ts`. */
  readonly label: string;
  readonly signal?: AbortSignal;
  /** Buffers of the input to be moved instead of copied. */
  readonly transfer?: readonly Transferable[];
}

export interface WorkerPool {
  /** Runs a task of `worker.ts` on a thread. Throws StepError; on abort the signal's reason. */
  run<T>(task: string, input: unknown, options: TaskOptions): Promise<T>;
  /** Ends all threads; tasks in flight fail. */
  close(): Promise<void>;
}

export interface PoolOptions {
  /** Threads at most; default: what the CPU limit of the container or machine allows. */
  readonly threads?: number;
  /** A task that runs longer is stuck: its thread is ended. */
  readonly taskLimitMs?: number;
  /** Heap of one thread. */
  readonly heapMiB?: number;
  readonly clock?: Clock;
  readonly url?: URL;
}

interface Pending {
  readonly order: TaskOrder;
  readonly label: string;
  readonly transfer: readonly Transferable[];
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  /** Settled by an abort: not to be started, and its reply is dropped. */
  settled: boolean;
}

export function openWorkerPool(options: PoolOptions = {}): WorkerPool {
  return new Pool(options);
}

class Pool implements WorkerPool {
  readonly #options: Required<PoolOptions>;
  readonly #threads = new Set<Thread>();
  #queue: Pending[] = [];
  #lastId = 0;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = {
      threads: options.threads ?? availableParallelism(),
      taskLimitMs: options.taskLimitMs ?? 60_000,
      heapMiB: options.heapMiB ?? 1024,
      clock: options.clock ?? systemClock,
      url: options.url ?? workerUrl(import.meta.url, './worker.ts', 'steps-worker'),
    };
  }

  run<T>(task: string, input: unknown, options: TaskOptions): Promise<T> {
    if (this.#closed) return Promise.reject(new StepError('internal', 'the worker threads were stopped'));
    const { signal, label, transfer = [] } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise<T>((resolve, reject) => {
      const order = { id: ++this.#lastId, task, input };
      const pending: Pending = { order, label, transfer, resolve, reject, settled: false };
      if (signal !== undefined) settleOnAbort(pending, signal);
      this.#queue.push(pending);
      this.#dispatch();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const waiting = this.#queue;
    this.#queue = [];
    for (const pending of waiting) pending.reject(new StepError('internal', 'the worker threads were stopped'));
    await Promise.all([...this.#threads].map((thread) => thread.stop('the worker threads were stopped')));
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const next = this.#queue[0]!;
      if (!next.settled) {
        const thread = this.#roomiest();
        if (thread === undefined) return;
        thread.give(next);
      }
      this.#queue.shift();
    }
  }

  /** The thread with the fewest tasks, a new one before a busy one; undefined when all are full. */
  #roomiest(): Thread | undefined {
    let best: Thread | undefined;
    for (const thread of this.#threads) {
      if (thread.held < (best?.held ?? PREFETCH)) best = thread;
    }
    if ((best === undefined || best.held > 0) && this.#threads.size < this.#options.threads) best = this.#start();
    return best;
  }

  #start(): Thread {
    const thread = new Thread(this.#options, {
      hasRoom: () => this.#dispatch(),
      ended: (left) => {
        this.#threads.delete(thread);
        this.#queue.unshift(...left);
        this.#dispatch();
      },
    });
    this.#threads.add(thread);
    return thread;
  }
}

function settleOnAbort(pending: Pending, signal: AbortSignal): void {
  const abort = () => {
    pending.settled = true;
    pending.reject(signal.reason);
  };
  signal.addEventListener('abort', abort, { once: true });
  const { resolve, reject } = pending;
  const done = () => signal.removeEventListener('abort', abort);
  Object.assign(pending, {
    resolve: (value: never) => (done(), resolve(value)),
    reject: (error: unknown) => (done(), reject(error)),
  });
}

interface ThreadOwner {
  hasRoom(): void;
  /** The thread is gone; `left` are the tasks that it had not begun. */
  ended(left: readonly Pending[]): void;
}

/** One worker thread with the tasks that it holds; the first is the one that it executes. */
class Thread {
  readonly #worker: Worker;
  readonly #options: Required<PoolOptions>;
  readonly #owner: ThreadOwner;
  readonly #tasks: Pending[] = [];
  #ready = false;
  #ended = false;
  #error: Error | undefined;
  #stopLimit: () => void = () => undefined;

  constructor(options: Required<PoolOptions>, owner: ThreadOwner) {
    this.#options = options;
    this.#owner = owner;
    this.#worker = new Worker(options.url, {
      name: 'fairlead-step',
      // Flags of the main program, such as those of `node --eval`, are not for threads.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: options.heapMiB },
    });
    this.#worker.on('message', (reply: TaskReply) => this.#receive(reply));
    this.#worker.on('error', (error: Error) => {
      this.#error = error;
    });
    this.#worker.on('exit', (code) => this.#end(this.#exitFailure(code)));
  }

  /** Tasks that it executes or will execute next. A thread that is about to end takes none. */
  get held(): number {
    return this.#ended ? PREFETCH : this.#tasks.length;
  }

  give(pending: Pending): void {
    this.#tasks.push(pending);
    this.#worker.ref();
    this.#worker.postMessage(pending.order, pending.transfer);
    if (this.#tasks.length === 1) this.#watchHead();
  }

  async stop(why: string): Promise<void> {
    for (const task of this.#tasks.splice(0)) task.reject(new StepError('internal', why));
    this.#end(undefined);
    await this.#worker.terminate();
  }

  #receive(reply: TaskReply): void {
    if (this.#ended) return;
    if (reply.kind === 'ready') {
      this.#ready = true;
      return;
    }
    const task = this.#tasks.shift()!;
    this.#watchHead();
    if (reply.kind === 'done') task.resolve(reply.value as never);
    else task.reject(new StepError(reply.class, reply.message));
    if (reply.kind === 'done' && reply.retire) this.#retire();
    else this.#owner.hasRoom();
  }

  #watchHead(): void {
    this.#stopLimit();
    const head = this.#tasks[0];
    if (head === undefined) {
      this.#worker.unref();
      return;
    }
    const { taskLimitMs, clock } = this.#options;
    this.#stopLimit = clock.after(taskLimitMs, () => {
      const message = `${head.order.task} of ${head.label} took longer than ${taskLimitMs / 1000} s and was ended`;
      this.#end(new StepError('timeout', message));
      void this.#worker.terminate();
    });
  }

  /** The thread asked for it: what it holds and has not begun goes elsewhere. */
  #retire(): void {
    this.#end(undefined);
    void this.#worker.terminate();
  }

  #end(failure: StepError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stopLimit();
    const left = this.#tasks.splice(0);
    if (failure !== undefined) {
      // A thread that cannot even start would end for each task alike: all of them must learn why.
      const isStart = !this.#ready && failure.class !== 'timeout';
      for (const task of left.splice(0, isStart ? left.length : 1)) task.reject(failure);
    }
    this.#owner.ended(left);
  }

  #exitFailure(code: number): StepError {
    const head = this.#tasks[0];
    const what = head === undefined ? 'an idle worker thread' : `${head.order.task} of ${head.label}`;
    const error = this.#error;
    if (error !== undefined && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
      return new StepError('invalid', `${what} needs more than ${this.#options.heapMiB} MiB of memory: too large`);
    }
    const why = error === undefined ? `exit code ${code}` : error.message;
    return new StepError('internal', `${what} ended its worker thread: ${why}`, { cause: error });
  }
}
