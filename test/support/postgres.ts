// A real Postgres for tests: the one of FAIRLEAD_TEST_POSTGRES_URL, else one that scripts/postgres.ts starts with the first test file that
// asks, shared by all files of the run and gone with it. Each file works in a database of its own.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { afterAll } from 'vitest';

export interface TestPostgres {
  /** URL of a fresh, empty database. */
  readonly url: string;
}

/** A database for this test file; undefined, with one line that says why, where there is no Postgres to be had. */
export async function testPostgres(suite: string): Promise<TestPostgres | undefined> {
  const server = process.env.FAIRLEAD_TEST_POSTGRES_URL ?? (await sharedServer());
  if (server.startsWith('unavailable: ')) {
    process.stderr.write(`left out: ${suite}: no Postgres here (${server.slice('unavailable: '.length)})\n`);
    return undefined;
  }
  return { url: await freshDatabase(server) };
}

async function freshDatabase(server: string): Promise<string> {
  const name = `fairlead_${randomBytes(6).toString('hex')}`;
  await onServer(server, `CREATE DATABASE ${name}`);
  afterAll(() => onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`).catch(() => undefined));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.toString();
}

async function onServer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** The run's main process: workers are its children, so its death ends the server. */
const runPid = process.ppid;
const folder = join(tmpdir(), `fairlead-pg-${runPid}`);
const answer = join(folder, 'url');

async function sharedServer(): Promise<string> {
  if (claimStart()) await startServer();
  while (!existsSync(answer)) await wait(50);
  return readFileSync(answer, 'utf8').trim();
}

/** Whether this file is the first that asks. */
function claimStart(): boolean {
  try {
    mkdirSync(folder, { mode: 0o755 });
    return true;
  } catch {
    return false;
  }
}

async function startServer(): Promise<void> {
  const script = new URL('../../scripts/postgres.ts', import.meta.url).pathname;
  const keeper = spawn(process.execPath, [script, 'run', folder, '--while', String(runPid)], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  keeper.unref();
  const complaint: string[] = [];
  createInterface({ input: keeper.stderr }).on('line', (line) => complaint.push(line));
  const url = await new Promise<string>((resolve) => {
    createInterface({ input: keeper.stdout }).once('line', resolve);
    keeper.once('exit', () => resolve(`unavailable: ${complaint.join(' ') || 'it ended at once'}`));
  });
  keeper.stdout.destroy();
  keeper.stderr.destroy();
  if (url.startsWith('unavailable')) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${answer}.new`, url);
  renameSync(`${answer}.new`, answer);
}
