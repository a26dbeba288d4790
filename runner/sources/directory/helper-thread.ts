// Entry of the helper thread of a directory source: listings and file events happen here, so that a slow disk never stops the
// thread that runs user code, and a busy run never makes the queue of file events overflow.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../clock.ts';
import { StepError } from '../../sdk/index.ts';
import { codeOf, messageOf, reasonOf } from '../common/failure.ts';
import { listTree } from './list-job.ts';
import type { Ask, Say } from './messages.ts';
import type { DirectorySettings } from './settings.ts';
import { Tree } from './tree.ts';
import { watchTree } from './watch-job.ts';

/** A job that goes on until it ends or is stopped. */
class Job {
  readonly #stop = new AbortController();
  #wanted = 0;
  #wake: (() => void) | undefined;

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  more(): void {
    this.#wanted++;
    this.#wake?.();
  }

  stop(): void {
    this.#stop.abort();
    this.#wake?.();
  }

  async wanted(): Promise<void> {
    while (this.#wanted === 0 && !this.signal.aborted) await new Promise<void>((wake) => (this.#wake = wake));
    this.signal.throwIfAborted();
    this.#wanted--;
  }
}

const jobs = new Map<number, Job>();
const port = parentPort as MessagePort;
const say = (message: Say) => port.postMessage(message);
const tree = new Tree(workerData as DirectorySettings);

async function run(number: number, job: Job, body: (job: Job) => Promise<void>): Promise<void> {
  try {
    await body(job);
    say({ kind: 'ended', job: number });
  } catch (error) {
    if (!job.signal.aborted) say({ kind: 'failed', job: number, ...failure(error) });
  } finally {
    jobs.delete(number);
  }
}

/** Errors cross threads as data: class and message, where the folder itself failed with the folder's path. */
function failure(error: unknown): { class: 'transient' | 'invalid' | 'internal'; message: string } {
  if (error instanceof StepError)
    return { class: error.class === 'invalid' ? 'invalid' : 'transient', message: error.message };
  if (codeOf(error) === undefined) return { class: 'internal', message: messageOf(error) };
  return { class: 'transient', message: `the folder ${tree.settings.root} could not be read: ${reasonOf(error)}` };
}

const list = (number: number) => (job: Job) =>
  listTree(tree, {
    wanted: () => job.wanted(),
    batch: (columns) => say({ kind: 'batch', job: number, columns }),
    notes: (notes) => say({ kind: 'notes', job: number, notes }),
    isStopped: () => job.signal.aborted,
  });

const watch = (number: number) => (job: Job) =>
  watchTree(
    tree,
    {
      armed: () => say({ kind: 'armed', job: number }),
      changes: (changes) => say({ kind: 'changes', job: number, changes }),
      note: (text) => say({ kind: 'notes', job: number, notes: [text] }),
    },
    systemClock,
    job.signal,
  );

port.on('message', (ask: Ask) => {
  if (ask.kind === 'more') return jobs.get(ask.job)?.more();
  if (ask.kind === 'stop') return jobs.get(ask.job)?.stop();
  const job = new Job();
  jobs.set(ask.job, job);
  void run(ask.job, job, ask.kind === 'list' ? list(ask.job) : watch(ask.job));
});
