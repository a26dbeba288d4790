// One process of a program that stays up: takes a call at a time, is started again when it ended.
// Owns:   the process and its group, the pipe, the tail of its standard error, its memory bound.
// Leaves: which process takes a call (`fleet.ts`), what the lines say (`protocol.ts`).
//   X1. The process leads a process group of its own, and the group is ended by its number: nothing it started is left.
//   X2. A call that is cancelled or exceeds its time ends the process, because nothing else stops it for sure.
//   X3. A process that ended is started again by the next call.
//   X4. Above the memory bound during a call the call fails as too large; after a call the process is started anew.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { StepError } from '../../sdk/index.ts';
import type { Hide } from '../../secrets.ts';
import { LineSplitter } from './lines.ts';
import { residentBytes } from './memory.ts';
import { parseReply } from './protocol.ts';

const LINE_BYTES_MAX = 256 * 1024 * 1024;
const STDERR_TAIL_CHARACTERS = 1_000;
/** What is kept of standard error: more than is shown, so that the cut falls outside of a secret that is shown. */
const STDERR_KEPT_CHARACTERS = 8_000;
/** From asking a process to end until it is ended. */
const GRACE_MS = 2_000;
const MEMORY_CHECK_MS = 500;

export interface ProgramSettings {
  readonly command: readonly string[];
  readonly workingDir: string;
  /** The whole environment of the process. */
  readonly env: () => Promise<{ readonly [name: string]: string }>;
  readonly hide: Hide;
  /** From the start to the first reply, beyond the call's own limit. */
  readonly startTimeoutMs: number;
  readonly maxMemoryBytes: number | undefined;
  readonly clock: Clock;
}

export interface ProgramCall {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** A call in progress. */
interface Pending {
  readonly id: number;
  readonly resolve: (body: object) => void;
  readonly reject: (error: unknown) => void;
}

export class Program {
  readonly #settings: ProgramSettings;
  #process: RunningProcess | undefined;
  #lastId = 0;

  constructor(settings: ProgramSettings) {
    this.#settings = settings;
  }

  /** Sends one request line and gives the reply. One call at a time. */
  async call(lineOf: (id: number) => string, { timeoutMs, signal }: ProgramCall): Promise<object> {
    signal.throwIfAborted();
    const process = await this.#running();
    const id = ++this.#lastId;
    const limitMs = timeoutMs + (process.hasReplied ? 0 : this.#settings.startTimeoutMs);
    const body = await process.request(id, lineOf(id), limitMs, signal);
    await this.#renewIfLarge(process);
    return body;
  }

  /** Ends the process: it is asked by the end of its input, then by signals. */
  async close(): Promise<void> {
    await this.#process?.stop();
  }

  async #running(): Promise<RunningProcess> {
    if (this.#process === undefined || this.#process.hasEnded) {
      this.#process = new RunningProcess(this.#settings, await this.#settings.env());
    }
    return this.#process;
  }

  async #renewIfLarge(process: RunningProcess): Promise<void> {
    const { maxMemoryBytes } = this.#settings;
    if (maxMemoryBytes !== undefined && (await process.residentBytes()) > maxMemoryBytes) await process.stop();
  }
}

class RunningProcess {
  readonly #settings: ProgramSettings;
  readonly #child: Child;
  readonly #exited: Promise<void>;
  #pending: Pending | undefined;
  #stderr = '';
  #failure: StepError | undefined;
  hasReplied = false;
  /** It ended or is about to: no call must go to it. */
  hasEnded = false;

  constructor(settings: ProgramSettings, env: { readonly [name: string]: string }) {
    this.#settings = settings;
    const [file = '', ...args] = settings.command;
    this.#child = spawn(file, args, { cwd: settings.workingDir, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#exited = this.#listen();
  }

  request(id: number, line: string, limitMs: number, signal: AbortSignal): Promise<object> {
    const { clock } = this.#settings;
    const { promise, resolve, reject } = Promise.withResolvers<object>();
    this.#pending = { id, resolve, reject };
    const fail = (error: unknown) => {
      reject(error);
      this.#kill('SIGTERM');
    };
    const stopLimit = clock.after(limitMs, () =>
      fail(this.#error('timeout', `did not answer within ${limitMs / 1000} s`)),
    );
    const stopWatch = this.#watchMemory(fail);
    const abort = () => fail(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (this.#failure === undefined) this.#child.stdin.write(line);
    else reject(this.#failure);
    return promise.finally(() => {
      stopLimit();
      stopWatch();
      signal.removeEventListener('abort', abort);
      this.#pending = undefined;
    });
  }

  residentBytes(): Promise<number> {
    const { pid } = this.#child;
    return pid === undefined || this.hasEnded ? Promise.resolve(0) : residentBytes(pid);
  }

  async stop(): Promise<void> {
    const { clock } = this.#settings;
    this.hasEnded = true;
    this.#child.stdin.end();
    const stopTimer = clock.after(GRACE_MS, () => this.#kill('SIGTERM'));
    await this.#exited;
    stopTimer();
  }

  #listen(): Promise<void> {
    const child = this.#child;
    const lines = new LineSplitter(
      LINE_BYTES_MAX,
      (line) => this.#receive(line),
      () => this.#breakOff(`printed a line of more than ${LINE_BYTES_MAX} bytes`),
    );
    child.stdout.on('data', (chunk: Buffer) => lines.push(chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.#stderr = (this.#stderr + chunk).slice(-STDERR_KEPT_CHARACTERS);
    });
    // Writing to a process that is gone; `close` says why it went.
    child.stdin.on('error', () => undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    child.once('error', (error: NodeJS.ErrnoException) => {
      const what = error.code === 'ENOENT' ? 'there is no such program or working directory' : error.message;
      this.#end(new StepError('invalid', `${this.#name} cannot be started: ${what}`));
      resolve();
    });
    // What the program started and left behind, which would also hold its pipes open.
    child.once('exit', () => this.#kill('SIGKILL'));
    child.once('close', (code, signal) => {
      this.#end(this.#error('transient', `ended with ${signal === null ? `exit code ${code}` : `signal ${signal}`}`));
      resolve();
    });
    return promise;
  }

  #receive(line: string): void {
    try {
      const reply = parseReply(line, this.#settings.hide);
      if (reply === undefined || reply.id !== this.#pending?.id) return;
      this.hasReplied = true;
      this.#pending.resolve(reply.body);
    } catch (error) {
      this.#breakOff(error instanceof Error ? error.message : String(error));
    }
  }

  #breakOff(why: string): void {
    this.#pending?.reject(this.#error('internal', why));
    this.#kill('SIGTERM');
  }

  #end(failure: StepError): void {
    this.hasEnded = true;
    this.#failure ??= failure;
    this.#pending?.reject(failure);
  }

  /** Ends the whole group; on SIGTERM for good after a grace. */
  #kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    this.hasEnded = true;
    try {
      process.kill(-pid, signal);
    } catch {
      return; // nothing of the group is left
    }
    if (signal === 'SIGTERM') {
      const stopTimer = this.#settings.clock.after(GRACE_MS, () => this.#kill('SIGKILL'));
      void this.#exited.then(stopTimer);
    }
  }

  #watchMemory(fail: (error: StepError) => void): () => void {
    const { maxMemoryBytes, clock } = this.#settings;
    if (maxMemoryBytes === undefined) return () => undefined;
    let stop = () => undefined as void;
    const check = async () => {
      if ((await this.residentBytes()) > maxMemoryBytes) {
        fail(
          this.#error('invalid', `needed more than ${maxMemoryBytes} bytes of memory: the item is too large for it`),
        );
      } else if (this.#pending !== undefined) arm();
    };
    const arm = () => {
      stop = clock.after(MEMORY_CHECK_MS, () => void check());
    };
    arm();
    return () => stop();
  }

  get #name(): string {
    return `${this.#settings.command[0]}`;
  }

  #error(failure: 'transient' | 'internal' | 'invalid' | 'timeout', what: string): StepError {
    const said = this.#settings.hide(this.#stderr.trim()).slice(-STDERR_TAIL_CHARACTERS);
    return new StepError(
      failure,
      `${this.#name} ${what}${said === '' ? '' : `; its standard error ends with:\n${said}`}`,
    );
  }
}
