// The link's own thread: user code that never yields cannot stop the heartbeat, because it does not run here.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../clock.ts';
import { dialer } from './dial.ts';
import { type LinkOwner, RunnerLink } from './link.ts';
import type { FromLink, LinkThreadOptions, ToLink } from './thread-messages.ts';

const port = parentPort!;
const { identity, addresses, ca, tokenFile } = workerData as LinkThreadOptions;

/** How often the engine's thread is asked whether it still turns. */
const PING_MS = 1_000;

const tell = (message: FromLink, transfer: readonly ArrayBuffer[] = []) => port.postMessage(message, [...transfer]);
const owner: LinkOwner = {
  opened: (opening, epoch) => tell({ kind: 'opened', opening, epoch }),
  batch: (opening, bytes) => tell({ kind: 'batch', opening, bytes }),
  acknowledged: (opening, batch) => tell({ kind: 'acknowledged', opening, batch }),
  ready: (opening) => tell({ kind: 'ready', opening }),
  over: (why) => tell({ kind: 'over', why }),
  specs: ({ generation, pipeline, sources }) =>
    tell({ kind: 'specs', generation, pipeline, sources: sources.map(({ name, spec }) => ({ name, spec })) }),
  // The engine's thread may hang in user code: only the end of the process is sure to end its runs.
  kill: () => process.kill(process.pid, 'SIGKILL'),
  note: (text) => tell({ kind: 'note', text }),
};

const link = new RunnerLink({
  clock: systemClock,
  random: Math.random,
  newId: randomUUID,
  identity,
  owner,
  dial: dialer({ addresses, ca, token: async () => (await readFile(tokenFile, 'utf8')).trim() }),
});

let answeredAtMs = performance.now();
let askedAtMs = answeredAtMs;
setInterval(() => {
  link.busyMs = askedAtMs > answeredAtMs ? Math.round(performance.now() - askedAtMs) : 0;
  if (askedAtMs > answeredAtMs) return;
  askedAtMs = performance.now();
  tell({ kind: 'ping' });
}, PING_MS).unref();

port.on('message', (message: ToLink) => {
  switch (message.kind) {
    case 'batch':
      link.sendBatch(message.opening, message.bytes);
      break;
    case 'report':
      link.sendReport(message.opening, message.bytes);
      break;
    case 'stopped':
      link.stopped();
      break;
    case 'leave':
      link.leave(message.why);
      break;
    case 'gone':
      link.gone();
      break;
    case 'pong':
      answeredAtMs = performance.now();
      break;
    case 'close':
      link.close();
      port.close();
      break;
  }
});

link.start();
