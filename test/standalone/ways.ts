// The ways in which one set of objects is served: in one process, and by an operator with runners of its own, on either store.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { ApiClient } from '../../cli/remote/client.ts';
import { announcedFor } from '../../cli/remote/place.ts';
import type { Action } from '../../operator/api/index.ts';
import type { UpdateRecord } from '../../operator/host/index.ts';
import type { Counts } from '../../runner/protocol/index.ts';
import { type RunningCommand, startCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

export interface WayOptions {
  /** Arguments of the process that stays. */
  readonly args: readonly string[];
  /** Cycles are asked of that process; or, once it has ended, made by a process each, as `fairlead dev` does whose `--watch` sees all by itself. */
  readonly cycles: 'asked' | 'alone';
  /** What they say, all of them, once they have heard the first signal: two signals that a process has not looked at are one. */
  readonly heard: RegExp;
  /** State and targets are there; absent: in SQLite. */
  readonly postgresUrl?: string;
}

const DATABASE_VARIABLE = 'FAIRLEAD_TEST_DATABASE';
const PIPELINE = '/api/v1/pipelines/default/alike';
const TABLES = ['lines', 'parts', 'tasks', 'berths'] as const;

/** Rows of all targets as "table source/key text", in order. */
export type Rows = readonly string[];

export type Counted = Omit<Counts, 'superseded'>;

/** By what is counted. */
export type Most = Readonly<Record<string, number>>;

export class Way {
  readonly folder = temporaryFolder();
  readonly #options: WayOptions;
  #process: RunningCommand | undefined;

  constructor(options: WayOptions) {
    this.#options = options;
  }

  async start(objects: (store: { readonly state: string; target(table: string): string }) => string): Promise<void> {
    const { postgresUrl } = this.#options;
    const url = `urlFrom: {env: ${DATABASE_VARIABLE}}`;
    const store =
      postgresUrl === undefined
        ? { state: 'sqlite: {}', target: (table: string) => `sqlite: {table: ${table}}` }
        : { state: `postgres: {${url}}`, target: (table: string) => `postgres: {${url}, table: ${table}}` };
    this.write('fairlead.yaml', objects(store));
    this.#process = this.#run(this.#args);
    await eventually(
      () => announcedFor(this.folder),
      (place) => place !== undefined,
      'the API is served',
    );
  }

  /**
   * All processes are told twice to end, in the middle of what `change` makes a cycle of the live source do: the file `stays` says that it is at it,
   * and it goes on while there is the file `held`. Then they begin anew.
   */
  async cutShort(source: string, change: () => void): Promise<void> {
    this.write('held', '');
    const isAlone = this.#options.cycles === 'alone';
    if (isAlone) await this.stop();
    change();
    if (isAlone) this.#process = this.#run(['dev', '--once', '-f', 'fairlead.yaml']);
    else await this.#api.post(`${PIPELINE}/actions`, { action: 'refresh', source });
    await eventually(() => existsSync(join(this.folder, 'stays')), Boolean, 'the item is being done');
    const { process: one, done } = this.#process!;
    one.kill('SIGTERM');
    await this.#process!.sees(this.#options.heard);
    one.kill('SIGTERM');
    await done;
    this.remove('held');
    this.#process = this.#run(this.#args);
  }

  /** How much was in flight at once, at the most, by what the module wrote down. */
  most(): Most {
    const file = join(this.folder, 'crowd');
    const now: Record<string, number> = {};
    const most: Record<string, number> = {};
    for (const line of existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []) {
      const [what, change] = line.split(' ') as [string, string];
      now[what] = (now[what] ?? 0) + Number(change);
      most[what] = Math.max(most[what] ?? 0, now[what]);
    }
    return most;
  }

  /** As people do: with a signal, and runners leave first. */
  async stop(): Promise<void> {
    this.#process?.process.kill('SIGTERM');
    await this.#process?.done;
    this.#process = undefined;
  }

  get #args(): readonly string[] {
    return [...this.#options.args, '-f', 'fairlead.yaml', '--api', '127.0.0.1:0'];
  }

  #run(args: readonly string[]): RunningCommand {
    const env = { NODE_COMPILE_CACHE: join(this.folder, 'compiled'), XDG_STATE_HOME: join(this.folder, 'home') };
    const database = { [DATABASE_VARIABLE]: this.#options.postgresUrl ?? '' };
    return startCommand(args, { cwd: this.folder, env: { ...env, ...database } });
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  remove(path: string): void {
    rmSync(join(this.folder, path));
  }

  /** Commits all files below a folder, which is a repository from the first time on. */
  commit(folder: string): void {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
        cwd: join(this.folder, folder),
        stdio: 'pipe',
      });
    git('init', '-q', '-b', 'main');
    git('add', '-A');
    git('commit', '-q', '-m', 'a commit');
  }

  /** One cycle of a live source, after `change`; answers what it counted. */
  async cycle(source: string, wish: Omit<Action, 'source'>, change: () => void): Promise<Counted> {
    if (this.#options.cycles === 'alone') {
      await this.stop();
      change();
      return this.#cycleAlone(source, wish);
    }
    const before = new Set((await this.#cycles(source)).map(({ name }) => name));
    change();
    await this.#api.post(`${PIPELINE}/actions`, { ...wish, source });
    const isNew = ({ name, result }: UpdateRecord) => !before.has(name) && result !== 'Running';
    const look = () => this.#cycles(source);
    const ended = (await eventually(look, (all) => all.some(isNew), `a cycle of ${source} ends`)).find(isNew)!;
    const { unchanged, added, reprocessed, deleted, failed } = ended.counts;
    return { unchanged, added, reprocessed, deleted, failed };
  }

  async #cycleAlone(source: string, { action, allowDeletes }: Omit<Action, 'source'>): Promise<Counted> {
    const consent = allowDeletes === true ? ['--allow-deletes'] : [];
    const args = action === 'reprocess' ? ['reprocess', source] : ['dev', '--once', ...consent];
    const { stdout, stderr } = await this.#run([...args, '-f', 'fairlead.yaml']).done;
    const [line] = stdout.split('\n').filter((one) => one.startsWith(`${source}: `));
    const numbers = line?.match(/(\d+) unchanged, (\d+) added, (\d+) reprocessed, (\d+) deleted, (\d+) failed/);
    if (!numbers) throw new Error(`there is no line of ${source}:\n${stdout}\n${stderr}`);
    const [unchanged, added, reprocessed, deleted, failed] = numbers.slice(1).map(Number) as [
      number,
      number,
      number,
      number,
      number,
    ];
    return { unchanged, added, reprocessed, deleted, failed };
  }

  /** Newest first. */
  async #cycles(source: string): Promise<UpdateRecord[]> {
    const { updates } = await this.#api.get<{ updates: UpdateRecord[] }>(`${PIPELINE}/updates`);
    return updates.filter((one) => one.source === source && one.kind === 'cycle');
  }

  async rows(): Promise<Rows> {
    const { postgresUrl } = this.#options;
    const all = await Promise.all(
      TABLES.map((table) => (postgresUrl === undefined ? this.#sqliteRows(table) : postgresRows(postgresUrl, table))),
    );
    return all.flat().sort();
  }

  get #api(): ApiClient {
    return new ApiClient(announcedFor(this.folder)!);
  }

  #sqliteRows(table: string): string[] {
    const file = join(this.folder, '.fairlead', 'alike.db');
    if (!existsSync(file)) return [];
    const database = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
    try {
      return linesOf(table, database.prepare(`SELECT source, key, text FROM ${table}`).all());
    } catch (error) {
      if (error instanceof Error && error.message.includes('no such table')) return [];
      throw error;
    } finally {
      database.close();
    }
  }
}

async function postgresRows(url: string, table: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return linesOf(table, (await client.query(`SELECT source, key, text FROM ${table}`)).rows);
  } catch (error) {
    if ((error as { code?: string }).code === '42P01') return []; // The table is not made yet.
    throw error;
  } finally {
    await client.end();
  }
}

const linesOf = (table: string, rows: readonly Record<string, unknown>[]): string[] =>
  rows.map(({ source, key, text }) => `${table} ${source}/${key} ${text}`);
