// The programs that people use, from PATH, with KUBECONFIG: kubectl, helm, docker.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly stdin?: string;
  readonly withinMs?: number;
}

/** What a program may take that only asks: the machine may be busy. */
const WITHIN_MS = 180_000;
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

/** Runs a program to its end; never throws. */
export function attempt(program: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { stdin = '', withinMs = WITHIN_MS } = options;
  return new Promise((resolve) => {
    const child = execFile(
      program,
      [...args],
      { timeout: withinMs, maxBuffer: OUTPUT_BYTES_MAX },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code ?? 1) || 1, stdout, stderr }),
    );
    child.stdin?.end(stdin);
  });
}

/** Runs a program; throws with what it wrote when it fails. */
export async function run(program: string, args: readonly string[], options?: RunOptions): Promise<string> {
  const ran = await attempt(program, args, options);
  if (ran.code !== 0) throw new Error(`${program} ${args.join(' ')}: code ${ran.code}\n${ran.stdout}\n${ran.stderr}`);
  return ran.stdout;
}

export const kubectl = (...args: string[]): Promise<string> => run('kubectl', args);

/** A program that goes on until it is stopped. */
export interface Going {
  readonly lines: AsyncIterable<string>;
  stop(): void;
}

export function start(program: string, args: readonly string[]): Going {
  const child: ChildProcess = spawn(program, [...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  return { lines: createInterface({ input: child.stdout! }), stop: () => void child.kill('SIGKILL') };
}

export interface Forwarded {
  /** Port of this machine. */
  readonly port: number;
  stop(): void;
}

/** A port of this machine that leads to a port of a Service, until it is stopped. */
export function forward(namespace: string, service: string, port: number): Promise<Forwarded> {
  const child = spawn('kubectl', ['-n', namespace, 'port-forward', `service/${service}`, `:${port}`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return new Promise((resolve, reject) => {
    // Listened to for as long as it lives: a pipe that nobody reads would stop it.
    child.stdout.on('data', (text: Buffer) => {
      const found = /127\.0\.0\.1:(\d+) ->/.exec(text.toString())?.[1];
      if (found !== undefined) resolve({ port: Number(found), stop: () => void child.kill('SIGKILL') });
    });
    child.once('exit', () => reject(new Error(`kubectl port-forward to ${namespace}/${service} ended`)));
  });
}
