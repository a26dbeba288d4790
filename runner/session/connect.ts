// Connects an engine to operators: the session on this thread, the link on its own.
import { Worker } from 'node:worker_threads';
import type { Runner } from '../protocol/index.ts';
import { workerUrl } from '../worker-url.ts';
import { RunnerSession } from './session.ts';
import type { FromLink, LinkThreadOptions, RunnerSpecs, ToLink } from './thread-messages.ts';

export interface ConnectOptions extends LinkThreadOptions {
  readonly engine: Runner;
  /** The first specs, and every change. */
  readonly onSpecs: (specs: RunnerSpecs) => void;
  /** A session opened with an operator of this epoch. */
  readonly onOpened?: (epoch: number) => void;
  /** For the log. */
  readonly onNote?: (text: string) => void;
}

export interface Connection {
  readonly session: RunnerSession;
  /** Lets go of the link; what was said before still leaves. */
  close(): Promise<void>;
}

/** How long the link may take to say its last words. */
const CLOSE_MAX_MS = 2_000;

export function connect(options: ConnectOptions): Connection {
  const { engine, onSpecs, onOpened, onNote, identity, addresses, ca, tokenFile } = options;
  const workerData: LinkThreadOptions = { identity, addresses, ca, tokenFile };
  const worker = new Worker(workerUrl(import.meta.url, './link-thread.ts', 'link-thread'), { workerData });
  const tell = (message: ToLink) => worker.postMessage(message);
  const sealed = (kind: 'batch' | 'report', opening: number, bytes: Uint8Array) =>
    worker.postMessage({ kind, opening, bytes } satisfies ToLink);
  const session = new RunnerSession({
    engine,
    defer: setImmediate,
    link: {
      sendBatch: (opening, bytes) => sealed('batch', opening, bytes),
      sendReport: (opening, bytes) => sealed('report', opening, bytes),
      stopped: () => tell({ kind: 'stopped' }),
      leave: (why) => tell({ kind: 'leave', why }),
      gone: () => tell({ kind: 'gone' }),
    },
    ...(onOpened === undefined ? {} : { onOpened }),
    ...(onNote === undefined ? {} : { onNote }),
  });
  worker.on('message', (message: FromLink) => {
    if (message.kind === 'ping') tell({ kind: 'pong' });
    else if (message.kind === 'specs') onSpecs(message);
    else hear(session, message);
  });
  return {
    session,
    close: async () => {
      const exited = new Promise<void>((resolve) => {
        worker.once('exit', () => resolve());
      });
      tell({ kind: 'close' });
      const giveUp = setTimeout(() => void worker.terminate(), CLOSE_MAX_MS);
      await exited;
      clearTimeout(giveUp);
    },
  };
}

function hear(session: RunnerSession, message: Exclude<FromLink, { kind: 'ping' | 'specs' }>): void {
  switch (message.kind) {
    case 'opened':
      session.opened(message.opening, message.epoch);
      break;
    case 'batch':
      session.batch(message.opening, message.bytes);
      break;
    case 'acknowledged':
      session.acknowledged(message.opening, message.batch);
      break;
    case 'ready':
      session.ready(message.opening);
      break;
    case 'over':
      session.over(message.why);
      break;
    case 'kill':
      session.kill(message.why);
      break;
    case 'note':
      session.note(message.text);
      break;
  }
}
