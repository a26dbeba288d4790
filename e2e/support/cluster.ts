// The cluster that scenarios run on, through the programs that people use: kubectl and helm of PATH, with KUBECONFIG.
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const NAMESPACE = 'e2e';
export const OPERATOR_NAMESPACE = 'fairlead';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end; never throws. */
export function attempt(program: string, args: readonly string[], stdin = '', timeoutMs = 120_000): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      [...args],
      { timeout: timeoutMs, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code ?? 1) || 1, stdout, stderr }),
    );
    child.stdin?.end(stdin);
  });
}

/** The same; throws with both streams when it fails. */
export async function run(program: string, args: readonly string[], stdin = '', timeoutMs?: number): Promise<string> {
  const ran = await attempt(program, args, stdin, timeoutMs);
  if (ran.code !== 0) throw new Error(`${program} ${args.join(' ')}: code ${ran.code}\n${ran.stdout}\n${ran.stderr}`);
  return ran.stdout;
}

export const kubectl = (...args: string[]): Promise<string> => run('kubectl', args);
export const inNamespace = (...args: string[]): Promise<string> => run('kubectl', ['-n', NAMESPACE, ...args]);
export const helm = (...args: string[]): Promise<string> => run('helm', args, '', 300_000);
export const apply = (manifest: string): Promise<string> =>
  run('kubectl', ['-n', NAMESPACE, 'apply', '--server-side', '-f', '-'], manifest);

export async function get<T>(...args: string[]): Promise<T | undefined> {
  const ran = await attempt('kubectl', ['get', '-o', 'json', '--ignore-not-found', ...args]);
  return ran.code !== 0 || ran.stdout.trim() === '' ? undefined : (JSON.parse(ran.stdout) as T);
}

/** Asks the database; rows are lines, columns are separated by `|`. */
export async function sql(query: string): Promise<string[]> {
  const ran = await attempt('kubectl', [
    '-n',
    NAMESPACE,
    'exec',
    'deploy/postgres',
    '--',
    'psql',
    '-h',
    '127.0.0.1',
    '-U',
    'postgres',
    '-At',
    '-c',
    query,
  ]);
  return ran.code === 0 ? ran.stdout.split('\n').filter((line) => line !== '') : [];
}

/** Runs shell lines in the git server's pod. */
export const inGit = (script: string): Promise<string> => inNamespace('exec', 'deploy/git', '--', 'sh', '-ec', script);

/** Keeps logs, events and objects for whoever looks at a failure. */
export async function keepEvidence(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const looks: Record<string, string[]> = {
    'objects.yaml': ['get', 'pipelines,livesources,pods,leases,events', '-A', '-o', 'yaml'],
    'pods.txt': ['get', 'pods', '-A', '-o', 'wide'],
    'operator.log': [
      'logs',
      '-n',
      OPERATOR_NAMESPACE,
      '-l',
      'app.kubernetes.io/component=operator',
      '--tail=-1',
      '--prefix',
    ],
    'runners.log': ['logs', '-n', NAMESPACE, '-l', 'app.kubernetes.io/component=runner', '--tail=-1', '--prefix'],
    'describe.txt': ['describe', 'pods', '-n', NAMESPACE],
  };
  for (const [file, args] of Object.entries(looks)) {
    const { stdout, stderr } = await attempt('kubectl', args);
    writeFileSync(join(folder, file), stdout + stderr);
  }
}
