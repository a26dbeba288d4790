// How a command reaches a `fairlead dev --watch` that is at work on the same state: a socket of this machine, one for each state.
//
//   C1. Only the user who runs Fairlead can reach it: it lies in a folder that is theirs alone.
//   C2. A request is one line of JSON, and so is each word of the answer; the last one says how it ended.
//   C3. What was asked for goes on when whoever asked goes away.
//   C4. A socket of a process that is gone is nobody's: the next one takes its place.
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { CommandError } from '../exit.ts';
import { controlPath, makeControlFolder, reach } from './control-place.ts';
import type { PipelineObjects } from './objects.ts';
import type { LocalPipeline } from './pipeline.ts';
import type { FailedItem } from './report.ts';
import type { Environment } from './secrets.ts';
import { perform, WORK, type Work, type WorkResult } from './work.ts';

const REQUEST_MAX_BYTES = 1024 * 1024;

type Word =
  | { readonly kind: 'taken'; readonly pid: number }
  | { readonly kind: 'failed'; readonly item: FailedItem }
  | { readonly kind: 'done'; readonly result: WorkResult }
  | { readonly kind: 'refused'; readonly message: string };

/** Throws CommandError where a process of this machine is at work on the state: of a shared one its lease would tell only after a while. */
export async function refuseAtWork(objects: PipelineObjects, environment: Environment): Promise<void> {
  if (objects.pipeline.value.spec.state.postgres === undefined) return;
  if (await isListening(await controlPath(objects, environment)))
    throw new CommandError(
      `Pipeline ${objects.label} is at work in another process of this machine, a fairlead dev --watch: stop that one`,
    );
}

/** Listens for a Pipeline that this process has the state of, until it is closed. */
export async function serveControl(pipeline: LocalPipeline, environment: Environment): Promise<() => Promise<void>> {
  const path = await controlPath(pipeline.objects, environment);
  makeControlFolder(environment);
  // Whoever had the state before is gone (C4).
  rmSync(path, { force: true });
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    answer(socket, pipeline);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  server.unref();
  return () => closed(server, open);
}

async function isListening(path: string): Promise<boolean> {
  const socket = await reach(path);
  socket?.destroy();
  return socket !== undefined;
}

/** Who is in the middle of an answer hears the end of it. */
function closed(server: Server, open: ReadonlySet<Socket>): Promise<void> {
  for (const socket of open) if (socket.readyState !== 'open') socket.destroy();
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of open) socket.end();
  });
}

function answer(socket: Socket, pipeline: LocalPipeline): void {
  // Whoever asked may go away at any moment (C3).
  socket.on('error', () => {});
  const say = (word: Word): void => {
    if (socket.writable) socket.write(`${JSON.stringify(word)}\n`);
  };
  let text = '';
  let isTaken = false;
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    if (isTaken) return;
    text += chunk;
    if (text.length > REQUEST_MAX_BYTES) socket.destroy();
    const end = text.indexOf('\n');
    if (end < 0) return;
    isTaken = true;
    void respond(text.slice(0, end), pipeline, say).finally(() => socket.end());
  });
}

async function respond(line: string, pipeline: LocalPipeline, say: (word: Word) => void): Promise<void> {
  try {
    const work = WORK.parse(JSON.parse(line));
    say({ kind: 'taken', pid: process.pid });
    say({ kind: 'done', result: await perform(pipeline, work, (item) => say({ kind: 'failed', item })) });
  } catch (error) {
    say({ kind: 'refused', message: (error as Error).message });
  }
}

/** What whoever asks hears before the end. */
export interface Listener {
  taken(pid: number): void;
  failed(item: FailedItem): void;
}

/** Has the work done by the process that has the Pipeline's state. Undefined: there is none, so whoever asks may do it. */
export async function askAtWork(
  objects: PipelineObjects,
  work: Work,
  environment: Environment,
  listener: Listener,
): Promise<WorkResult | undefined> {
  const socket = await reach(await controlPath(objects, environment));
  if (socket === undefined) return undefined;
  socket.write(`${JSON.stringify(work)}\n`);
  for await (const line of createInterface({ input: socket })) {
    const word = JSON.parse(line) as Word;
    if (word.kind === 'taken') listener.taken(word.pid);
    else if (word.kind === 'failed') listener.failed(word.item);
    else if (word.kind === 'done') return word.result;
    else throw new CommandError(`Pipeline ${objects.label}: the process at work refused: ${word.message}`);
  }
  throw new CommandError(`Pipeline ${objects.label}: the process at work ended before it was done`);
}
