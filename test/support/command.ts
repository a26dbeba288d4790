// Runs `fairlead` as users do: a real process, its two streams and its exit code.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** `FAIRLEAD_TEST_PROGRAM` names a bundle (`dist/main.js`) to be tested instead: it starts faster, which long forms of tests are glad of. */
const main = process.env.FAIRLEAD_TEST_PROGRAM ?? fileURLToPath(new URL('../../cli/bin.mjs', import.meta.url));

export interface CommandResult {
  /** Exit code; null: a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A process of `fairlead` that still runs. */
export interface RunningCommand {
  readonly process: ChildProcess;
  readonly done: Promise<CommandResult>;
  /** Resolves once the output so far matches; rejects when the process ends before that. */
  sees(pattern: RegExp): Promise<RegExpMatchArray>;
}

/** Starts `fairlead` with these arguments. */
export function startCommand(args: readonly string[], options: CommandOptions = {}): RunningCommand {
  const { cwd, input, env } = options;
  const child = spawn(process.execPath, [main, ...args], {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, NO_COLOR: '1', ...env },
  });
  const output = { stdout: '', stderr: '' };
  const watchers = new Set<() => void>();
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      output[stream] += chunk;
      for (const look of watchers) look();
    });
  child.stdin.on('error', () => {});
  child.stdin.end(input ?? '');
  const done = new Promise<CommandResult>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
  });
  const sees = (pattern: RegExp) =>
    new Promise<RegExpMatchArray>((resolve, reject) => {
      const look = () => {
        const found = output.stdout.match(pattern) ?? output.stderr.match(pattern);
        if (found === null) return;
        watchers.delete(look);
        resolve(found);
      };
      watchers.add(look);
      look();
      const gone = ({ code, stdout, stderr }: CommandResult) =>
        reject(new Error(`ended with ${code} before it printed ${pattern}\n${stdout}\n${stderr}`));
      done.then(gone, reject);
    });
  return { process: child, done, sees };
}

/** Runs `fairlead` to its end. */
export function command(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  return startCommand(args, options).done;
}
