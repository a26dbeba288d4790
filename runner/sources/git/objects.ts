// Reads objects of a repository by hash, through two git processes that stay open: one for sizes and refs, one for contents.
//   O1. Requests are answered in order; an abort takes back the wait, not the request.
//   O2. When a process dies, what waits fails, and the next request starts another.
import type { Socket } from 'node:net';
import { endOf, type GitChild, type GitContext, GitError, startGit } from './process.ts';

export interface ObjectInfo {
  readonly id: string;
  readonly type: string;
  readonly sizeBytes: number;
}

interface Waiting {
  resolve(answer: { readonly info: ObjectInfo; readonly content: Buffer } | undefined): void;
  reject(error: unknown): void;
}

const NEWLINE = 10;
const EMPTY = Buffer.alloc(0);

/** One `git cat-file` process in batch mode. */
class Batch {
  readonly #child: GitChild;
  readonly #withContent: boolean;
  readonly #waiting: Waiting[] = [];
  readonly #chunks: Buffer[] = [];
  #buffered = 0;
  /** Bytes that must be there before another look makes sense. */
  #needed = 1;
  #ended: { readonly error: unknown } | undefined;

  constructor(context: GitContext, withContent: boolean) {
    this.#withContent = withContent;
    this.#child = startGit(['cat-file', withContent ? '--batch' : '--batch-check'], context);
    this.#child.stdout.on('data', (chunk: Buffer) => this.#take(chunk));
    endOf(this.#child, context).then(
      () => this.#fail(new GitError('git cat-file ended', 0)),
      (error: unknown) => this.#fail(error),
    );
    this.#hold(false);
  }

  get isOpen(): boolean {
    return this.#ended === undefined;
  }

  ask(name: string): Promise<{ readonly info: ObjectInfo; readonly content: Buffer } | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended.error);
      if (this.#waiting.push({ resolve, reject }) === 1) this.#hold(true);
      this.#child.stdin.write(`${name}\n`);
    });
  }

  close(): void {
    this.#child.stdin.end();
  }

  /** Keeps this process alive while an answer is awaited, and only then. */
  #hold(isAwaited: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    for (const handle of [this.#child, stdin, stdout, stderr] as unknown as Socket[])
      if (isAwaited) handle.ref();
      else handle.unref();
  }

  #fail(error: unknown): void {
    this.#ended ??= { error };
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    while (this.#buffered >= this.#needed && this.#answerOne());
  }

  /** Answers the oldest request if its answer is whole; false: more must come. */
  #answerOne(): boolean {
    const buffer = this.#chunks.length === 1 ? (this.#chunks[0] ?? EMPTY) : Buffer.concat(this.#chunks);
    this.#chunks.splice(0, this.#chunks.length, buffer);
    const end = buffer.indexOf(NEWLINE);
    if (end < 0) return this.#need(buffer.length + 1);
    const info = infoOf(buffer.toString('latin1', 0, end));
    const length = info !== undefined && this.#withContent ? info.sizeBytes + 1 : 0;
    if (buffer.length < end + 1 + length) return this.#need(end + 1 + length);
    this.#drop(buffer, end + 1 + length);
    const content = this.#withContent ? buffer.subarray(end + 1, end + length) : EMPTY;
    this.#waiting.shift()?.resolve(info && { info, content });
    if (this.#waiting.length === 0) this.#hold(false);
    return this.#buffered > 0;
  }

  #need(bytes: number): false {
    this.#needed = bytes;
    return false;
  }

  #drop(buffer: Buffer, bytes: number): void {
    this.#chunks.splice(0, this.#chunks.length, buffer.subarray(bytes));
    this.#buffered = buffer.length - bytes;
    this.#needed = 1;
  }
}

/** `<hash> <type> <size>`; anything else (`<name> missing`, `<name> ambiguous`) means that there is no such object. */
function infoOf(line: string): ObjectInfo | undefined {
  const match = /^([0-9a-f]{40,64}) (blob|tree|commit|tag) ([0-9]+)$/.exec(line);
  return match === null ? undefined : { id: match[1] ?? '', type: match[2] ?? '', sizeBytes: Number(match[3]) };
}

export class ObjectReader {
  readonly #context: GitContext;
  #sizes: Batch | undefined;
  #contents: Batch | undefined;

  constructor(context: GitContext) {
    this.#context = context;
  }

  /** What a name stands for, such as a hash or `refs/heads/main^{commit}`. The name holds no white space. */
  async info(name: string): Promise<ObjectInfo | undefined> {
    if (!this.#sizes?.isOpen) this.#sizes = new Batch(this.#context, false);
    return (await this.#sizes.ask(name))?.info;
  }

  /** Content of an object by hash; undefined: the repository does not have it. */
  async content(id: string): Promise<Buffer | undefined> {
    if (!this.#contents?.isOpen) this.#contents = new Batch(this.#context, true);
    return (await this.#contents.ask(id))?.content;
  }

  /** Ends the processes; a later request starts others. */
  close(): void {
    this.#sizes?.close();
    this.#contents?.close();
    this.#sizes = undefined;
    this.#contents = undefined;
  }
}
