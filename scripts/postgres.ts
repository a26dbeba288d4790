// A real PostgreSQL with pgvector for tests and for trying things out, without Docker and without root:
//   node scripts/postgres.ts programs             fetches the programs and prints their folder
//   node scripts/postgres.ts run DIR [--while PID] runs a server in DIR (short: a socket's path has at most 107 bytes) until SIGTERM, SIGINT,
//                                                 or until the process PID is gone; prints its URL when it is ready
// The programs (PostgreSQL 16.2, pgvector 0.6.2) are those that the Python package pgserver carries; pip puts them into the cache folder.
// As root the server runs as `nobody`, because PostgreSQL refuses to run as root. It listens on a socket only, and does not wait for the disk.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const VERSION = '0.1.4';
const PROGRAMS = 'pgserver/pginstall/bin';
const POLL_MS = 50;
const READY_MS = 30_000;

export class PostgresUnavailable extends Error {}

/** Folder that holds `pgserver` and `pgserver.libs`; fetched the first time. Throws `PostgresUnavailable` with the reason. */
export function fetchPrograms(cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')): string {
  const home = join(cache, 'fairlead', `pgserver-${VERSION}`);
  if (existsSync(join(home, PROGRAMS, 'postgres'))) return home;
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new PostgresUnavailable(`pgserver ${VERSION} has no programs for ${process.platform} ${process.arch}`);
  const fresh = `${home}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  try {
    unpack(fresh);
    renameSync(fresh, home);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (existsSync(join(home, PROGRAMS, 'postgres'))) return home; // Another process was faster.
    throw new PostgresUnavailable(`pip could not fetch pgserver ${VERSION}: ${reasonOf(error)}`);
  }
  return home;
}

function unpack(folder: string): void {
  const python = (...args: string[]) =>
    execFileSync('python3', args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: folder });
  const from = ['--only-binary', ':all:', '--python-version', '3.11', '--platform', 'manylinux2014_x86_64'];
  python('-m', 'pip', 'download', '-q', '--no-deps', ...from, '-d', '.', `pgserver==${VERSION}`);
  const wheel = readdirSync(folder).find((name) => name.endsWith('.whl')) as string;
  python('-m', 'zipfile', '-e', wheel, '.');
  rmSync(join(folder, wheel));
  for (const name of readdirSync(join(folder, PROGRAMS))) chmodSync(join(folder, PROGRAMS, name), 0o755);
}

function reasonOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: Buffer; message: string };
  return (stderr?.toString().trim().split('\n').at(-1) || message).trim();
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Whom the server runs as: nobody when this is root, else whoever runs this. */
function serverUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = readFileSync('/etc/passwd', 'utf8').match(/^nobody:[^:]*:(\d+):(\d+):/m);
  if (line === null) throw new PostgresUnavailable('PostgreSQL refuses to run as root, and there is no user nobody');
  return { uid: Number(line[1]), gid: Number(line[2]) };
}

/** A server in `folder`, which must be empty or hold one that ran before. The promise is kept when it takes connections. */
export async function startPostgres(
  folder: string,
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const user = serverUser();
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const programs = join(reachablePrograms(folder, user), PROGRAMS);
  const data = join(folder, 'data');
  const options = { cwd: folder, env: { PATH: process.env.PATH ?? '', LC_ALL: 'C' }, ...user };
  if (!existsSync(join(data, 'PG_VERSION'))) {
    const settings = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    execFileSync(join(programs, 'initdb'), ['-D', data, ...settings], {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  }
  const server = spawn(join(programs, 'postgres'), ['-D', data, '-k', folder, '-h', '', '-F'], {
    ...options,
    stdio: 'ignore',
  });
  await readiness(join(programs, 'pg_isready'), folder, server);
  return { url: urlOf(folder, 'postgres'), stop: () => stop(server) };
}

export const urlOf = (folder: string, database: string): string =>
  `postgres://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`;

/** Root's cache is closed to `nobody`: then the programs are copied (34 MB) beside the data. */
function reachablePrograms(folder: string, user: User | undefined): string {
  const home = fetchPrograms();
  if (user === undefined) return home;
  const copy = join(folder, 'programs');
  if (!existsSync(copy)) cpSync(home, copy, { recursive: true });
  return copy;
}

async function readiness(program: string, folder: string, server: ChildProcess): Promise<void> {
  for (let waitedMs = 0; waitedMs < READY_MS; waitedMs += POLL_MS) {
    if (server.exitCode !== null) throw new PostgresUnavailable(`postgres ended with ${server.exitCode} at its start`);
    const asked = spawn(program, ['-q', '-h', folder], { stdio: 'ignore' });
    const [code] = await once(asked, 'exit');
    if (code === 0) return;
    await wait(POLL_MS);
  }
  server.kill('SIGQUIT');
  throw new PostgresUnavailable(`postgres was not ready after ${READY_MS / 1000} s`);
}

/** Fast shutdown: open connections are cut. */
async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGINT');
  await ended;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function run(folder: string, whilePid: number | undefined): Promise<void> {
  const over = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => over.abort());
  const server = await startPostgres(folder);
  process.stdout.write(`${server.url}\n`);
  while (!over.signal.aborted && (whilePid === undefined || isAlive(whilePid)))
    await wait(500, undefined, { signal: over.signal }).catch(() => undefined);
  await server.stop();
  if (whilePid !== undefined) rmSync(folder, { recursive: true, force: true });
}

async function main([command, folder, flag, pid]: readonly string[]): Promise<void> {
  if (command === 'programs') process.stdout.write(`${join(fetchPrograms(), PROGRAMS)}\n`);
  else if (command === 'run' && folder !== undefined)
    await run(resolve(folder), flag === '--while' ? Number(pid) : undefined);
  else throw new Error('usage: node scripts/postgres.ts programs | run DIR [--while PID]');
}

if (import.meta.main)
  await main(process.argv.slice(2)).catch((error: unknown) => {
    process.stderr.write(`postgres: ${(error as Error).message}\n`);
    process.exitCode = 1;
  });
