// Runs git. Never a shell; arguments are a list; the environment is made here, so that no variable of the caller points git elsewhere.
//   P1. No secret in arguments. What git says is cleaned of secrets before anyone sees it.
//   P2. Git asks nobody anything, reads the words of its messages in English, and takes no optional locks in other people's folders.
//   P3. Only the protocol of the address may be used, wherever a redirect or a repository's own settings point.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { StepError } from '../../sdk/index.ts';
import type { Hide } from '../../secrets.ts';
import { codeOf } from '../common/failure.ts';

export interface GitContext {
  /** Repository that the command works on. */
  readonly gitDir?: string;
  /** Protocols that may be used; none: the command stays on this machine. */
  readonly protocols?: readonly string[];
  /** Further settings in their order; a name may come twice. Never secrets. */
  readonly config?: readonly (readonly [name: string, value: string])[];
  readonly env?: Readonly<Record<string, string>>;
  /** Takes secrets out of messages. */
  readonly hide?: Hide;
}

export type GitChild = ChildProcessByStdio<Writable, Readable, Readable>;

const STDERR_MAX = 4_096;
const OUTPUT_MAX = 16 << 20;

/** Variables by which a caller, such as a git hook, says which repository is meant, or what is done to it. */
const MISLEADING =
  /^GIT_(DIR|WORK_TREE|IMPLICIT_WORK_TREE|COMMON_DIR|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|NAMESPACE|PREFIX|SHALLOW_FILE|GRAFT_FILE|REPLACE_REF_BASE|NO_REPLACE_OBJECTS|CONFIG|CONFIG_PARAMETERS|CONFIG_COUNT|CONFIG_KEY_.*|CONFIG_VALUE_.*|.*_PATHSPECS|TRACE.*)$/;

const CONFIG: NonNullable<GitContext['config']> = [
  ['gc.autoDetach', 'false'],
  ['maintenance.autoDetach', 'false'],
  // A server that sends nothing is given up.
  ['http.lowSpeedLimit', '100'],
  ['http.lowSpeedTime', '60'],
];

/** Environment of a git process: that of this process without what would lead git elsewhere (P2, P3). */
export function gitEnvironment(base: NodeJS.ProcessEnv, context: GitContext): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { GIT_SSH_COMMAND: 'ssh -o BatchMode=yes -o ConnectTimeout=30' };
  for (const [name, value] of Object.entries(base)) if (!MISLEADING.test(name)) env[name] = value;
  Object.assign(env, {
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ALLOW_PROTOCOL: (context.protocols ?? ['none']).join(':'),
    GIT_NO_LAZY_FETCH: '1',
    ...context.env,
  });
  const config = [...CONFIG, ...(context.config ?? [])];
  env.GIT_CONFIG_COUNT = String(config.length);
  for (const [at, [name, value]] of config.entries()) {
    env[`GIT_CONFIG_KEY_${at}`] = name;
    env[`GIT_CONFIG_VALUE_${at}`] = value;
  }
  return env;
}

/** Starts git; the caller reads its output. */
export function startGit(args: readonly string[], context: GitContext): GitChild {
  const where = context.gitDir === undefined ? [] : [`--git-dir=${context.gitDir}`];
  // A group of its own: git starts helpers, such as the one that speaks http, and they end with it.
  const options = { stdio: 'pipe', detached: true, env: gitEnvironment(process.env, context) } as const;
  const child = spawn('git', [...where, ...args], options);
  // Writing to a git that has ended is told by its exit, not by its pipe.
  child.stdin.on('error', () => {});
  return child;
}

/** Ends a git process and the helpers that it started. */
export function killGit(child: GitChild): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Why git ended badly, for people. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly exitCode: number | undefined;

  constructor(message: string, exitCode: number | undefined) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Follows a git process to its end. Rejects with GitError, or StepError (`invalid`) where there is no git, or the signal's reason. */
export function endOf(child: GitChild, context: GitContext, signal?: AbortSignal): Promise<void> {
  let said = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text: string) => {
    if (said.length < STDERR_MAX) said += text;
  });
  return new Promise((resolve, reject) => {
    const kill = () => killGit(child);
    signal?.addEventListener('abort', kill, { once: true });
    if (signal?.aborted) kill();
    child.once('error', (error) => reject(codeOf(error) === 'ENOENT' ? noGit() : error));
    child.once('close', (code, killedBy) => {
      signal?.removeEventListener('abort', kill);
      if (signal?.aborted) reject(signal.reason);
      else if (code === 0) resolve();
      else
        reject(
          new GitError(cleaned(said, context) || `git ended with ${killedBy ?? `code ${code}`}`, code ?? undefined),
        );
    });
  });
}

/** Runs git to its end and gives its output. */
export async function git(args: readonly string[], context: GitContext, signal?: AbortSignal): Promise<string> {
  const child = startGit(args, context);
  child.stdin.end();
  const parts: Buffer[] = [];
  let size = 0;
  child.stdout.on('data', (part: Buffer) => {
    size += part.length;
    if (size <= OUTPUT_MAX) parts.push(part);
  });
  await endOf(child, context, signal);
  if (size > OUTPUT_MAX) throw new GitError(`git ${args[0]} said more than ${OUTPUT_MAX} bytes`, undefined);
  return Buffer.concat(parts).toString('latin1');
}

/** Two lines that git says whatever the trouble was. */
const GENERAL_ADVICE = /^(Please make sure you have the correct access rights|and the repository exists\.)$/;

/** P1: the last lines of what git said, without secrets, user names in addresses and terminal signs. */
export function cleaned(said: string, context: GitContext): string {
  const lines = (context.hide?.(said) ?? said)
    .replace(/\/\/[^/@\s]+@/g, '//***@')
    .split(/[\r\n]+/)
    .map((line) =>
      line
        .replace(/\p{Cc}/gu, '')
        .replace(/^(fatal|error|remote): /, '')
        .trim(),
    )
    .filter((line) => line !== '' && !GENERAL_ADVICE.test(line));
  return lines.slice(-4).join('; ').slice(0, 600);
}

const noGit = (): StepError =>
  new StepError('invalid', 'this runner has no git: install the program git, or use another image');
