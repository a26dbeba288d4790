// Runner processes that a standalone operator starts and keeps running. They outlive an operator that is killed, and the next one finds them.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { StandaloneOperator } from '../operator/standalone/index.ts';
import { makeFolder } from '../runner/folders.ts';
import { isRunning } from '../runner/pid.ts';
import { CommandError } from './exit.ts';
import type { PipelineObjects } from './local/objects.ts';

/** "namespace/name". */
export const pipelineName = ({ pipeline }: PipelineObjects): string => `${pipeline.namespace}/${pipeline.name}`;

export interface StartedRunner {
  /** Its last process has ended, after `stop`. */
  readonly ended: Promise<void>;
  stop(): void;
}

export interface RunnerProcessesOptions {
  /** Folder of the operator: Secrets, and what tells the next operator which processes run. */
  readonly dir: string;
  /** Where runners dial. */
  readonly host: string;
  /** Processes of each class. */
  readonly startRunners: number;
}

/** A state in a file has one runner: a second one would be refused it, and be started again for ever. */
export function refuseManyOnFile(objects: PipelineObjects, startRunners: number): void {
  const { state, runners } = objects.pipeline.value.spec;
  if (state.postgres !== undefined || runners.length * startRunners <= 1) return;
  throw new CommandError(
    `Pipeline ${objects.label}: state.sqlite is for a single runner: --start-runners 1 with one class of runners, or state.postgres`,
    'usage',
  );
}

/** Starts runner processes for each class of a Pipeline, and keeps them running. */
export function startRunners(
  objects: PipelineObjects,
  operator: StandaloneOperator,
  options: RunnerProcessesOptions,
): StartedRunner[] {
  const pipeline = pipelineName(objects);
  const secrets = join(resolve(options.dir), 'secrets', objects.label);
  for (const { value } of objects.secrets) writeSecret(join(secrets, value.name), value.values);
  return objects.pipeline.value.spec.runners.flatMap((runnerClass) =>
    Array.from({ length: options.startRunners }, (_, i) => {
      const name = `${objects.label}-${runnerClass.name}-${i}`;
      const flags = {
        operator: `https://${options.host}:${operator.port}`,
        ca: operator.certFile,
        token: operator.tokenFile,
        pipeline,
        class: runnerClass.name,
        slots: `${runnerClass.slots}`,
        gpus: `${runnerClass.gpus}`,
        data: objects.folders.home,
        base: objects.folders.base,
        secrets,
      };
      return keepRunning(name, flags, (instance) => operator.provenGone(pipeline, instance));
    }),
  );
}

/** Runners that an earlier operator started and that have ended, those too in whose place nobody starts another: the operator waits for none of them. */
export function proveEnded(dir: string, operator: StandaloneOperator): void {
  for (const name of readdirSync(resolve(dir)).filter((one) => one.endsWith(SUFFIX))) {
    const before = found(join(resolve(dir), name));
    if (before === undefined || runs(before)) continue;
    for (const pipeline of operator.hosts.keys()) operator.provenGone(pipeline, before.instance);
  }
}

function writeSecret(folder: string, values: Readonly<Record<string, string>>): void {
  makeFolder(folder, 0o700);
  for (const [key, value] of Object.entries(values)) writeFileSync(join(folder, key), value, { mode: 0o600 });
}

/**
 * Keeps one runner process running. Each has a name of its own, so that its end is proof of what it had. Runners outlive an operator that was
 * killed: the next one finds them by the file of their process, and starts others only in the place of those that have ended.
 */
function keepRunning(
  name: string,
  flags: Readonly<Record<string, string>>,
  gone: (instance: string) => void,
): StartedRunner {
  const file = join(dirname(flags.token!), `${name}${SUFFIX}`);
  let isStopping = false;
  let instances = 0;
  let pid = 0;
  const start = () => {
    const instance = `${name}-${process.pid}-${++instances}`;
    const args = Object.entries({ ...flags, name: instance }).flatMap(([flag, value]) => [`--${flag}`, value]);
    const child = spawn(process.execPath, [process.argv[1]!, 'runner', ...args], {
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
    });
    pid = child.pid ?? 0;
    writeFileSync(file, `${pid} ${instance}\n`);
    return { instance, exited: new Promise<void>((resolveExit) => child.once('exit', () => resolveExit())) };
  };
  const keep = async () => {
    const before = found(file);
    if (before !== undefined && runs(before)) {
      pid = before.pid;
      await ended(before);
      gone(before.instance);
    }
    while (!isStopping) {
      const { instance, exited } = start();
      await exited;
      gone(instance);
      if (!isStopping) await pause(RESTART_MS);
    }
  };
  return {
    ended: keep(),
    stop: () => {
      isStopping = true;
      try {
        if (pid > 0) process.kill(pid, 'SIGTERM');
      } catch {
        // It has ended already.
      }
    },
  };
}

/** Of the files that say which process is which runner. */
const SUFFIX = '.process';
const RESTART_MS = 1_000;
const LOOK_MS = 250;

interface FoundRunner {
  readonly pid: number;
  readonly instance: string;
}

/** The runner that an earlier operator started. */
function found(file: string): FoundRunner | undefined {
  if (!existsSync(file)) return undefined;
  const [pid, instance] = readFileSync(file, 'utf8').trim().split(' ');
  return instance === undefined ? undefined : { pid: Number(pid), instance };
}

/** A process with its number runs, and is it: numbers are used again. */
function runs({ pid, instance }: FoundRunner): boolean {
  if (!isRunning(pid)) return false;
  try {
    return !existsSync('/proc/self') || readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(instance);
  } catch {
    return false;
  }
}

async function ended(runner: FoundRunner): Promise<void> {
  while (runs(runner)) await pause(LOOK_MS);
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolvePause) => {
    setTimeout(resolvePause, ms);
  });
