// A standalone operator and its runners as real processes, over TLS, on files that the test changes: what they executed, and what is indexed.
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { command, type RunningCommand, startCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { type Execution, executionsIn, killedLast } from './executions.ts';
import { freePort } from './free-port.ts';

export interface FieldOptions {
  /** Runs that may execute at once. */
  readonly limit: number;
  readonly runners: number;
  /** Absent: SQLite. */
  readonly postgresUrl?: string;
  /** How long a run executes. */
  readonly eachMs: number;
  /** JavaScript that a run executes before it ends. */
  readonly body?: string;
}

/** Key of a file, with its source, and its text. */
export type Rows = Record<string, string>;

const DATABASE_VARIABLE = 'FAIRLEAD_TEST_DATABASE';
/** Losses of its runner after which an item is left alone. */
const QUARANTINED_AFTER = 3;
const SOURCES = ['watched', 'listed'] as const;

export class StandaloneField {
  readonly folder = temporaryFolder();
  /** When processes were killed, by process, on the clock of the executions. */
  readonly killedAtMs = new Map<number, number>();
  readonly #options: FieldOptions;
  #operator: RunningCommand | undefined;
  readonly #started: RunningCommand[] = [];

  constructor(options: FieldOptions) {
    this.#options = options;
    for (const source of SOURCES) mkdirSync(join(this.folder, source));
    writeFileSync(join(this.folder, 'executions'), '');
    writeFileSync(join(this.folder, 'busy.mjs'), busyModule(join(this.folder, 'executions'), options));
    this.#writeObjects('fairlead.yaml', options.postgresUrl !== undefined);
    // What a clean run gives, on the embedded store, in a folder of its own.
    this.#writeObjects('clean.yaml', false);
  }

  get operator(): RunningCommand {
    if (this.#operator === undefined) throw new Error('there is no operator');
    return this.#operator;
  }

  async startOperator(): Promise<void> {
    this.#operator = await this.startOperatorOn(await this.#port());
  }

  /** One more operator of the same folder: it leads from now on, whatever others think. */
  async startOperatorOn(port: number): Promise<RunningCommand> {
    const flags = ['--standalone', '--dir', 'operator', '--port', `${port}`, '--api', 'off'];
    const operator = this.#start([
      'operator',
      '-f',
      'fairlead.yaml',
      ...flags,
      '--start-runners',
      `${this.#options.runners}`,
    ]);
    await operator.sees(/listens on/);
    return operator;
  }

  /** A runner that no operator started; it dials these ports in turn. */
  startRunner(name: string, slots: number, ports: readonly number[]): RunningCommand {
    const operators = ports.flatMap((port) => ['--operator', `https://127.0.0.1:${port}`]);
    const link = ['--ca', 'operator/tls.crt', '--token', 'operator/token', '--pipeline', 'default/busy'];
    return this.#start([
      'runner',
      ...operators,
      ...link,
      '--name',
      name,
      '--slots',
      `${slots}`,
      '--data',
      `data-${name}`,
    ]);
  }

  /** The same objects without an operator. */
  dev(...args: string[]): RunningCommand {
    return this.#start(['dev', '-f', 'fairlead.yaml', ...args]);
  }

  #start(args: readonly string[]): RunningCommand {
    const started = startCommand(args, { cwd: this.folder, env: this.#environment });
    this.#started.push(started);
    return started;
  }

  async killOperator(): Promise<void> {
    const { process: operator } = this.operator;
    // Not its streams' end: its runners have them too, and outlive it.
    const ended = once(operator, 'exit');
    operator.kill('SIGKILL');
    await ended;
    this.#operator = undefined;
  }

  /** Process numbers of runners that live. */
  runners(): number[] {
    const folder = join(this.folder, 'operator');
    return readdirSync(folder)
      .filter((file) => file.endsWith('.process'))
      .map((file) => Number(readFileSync(join(folder, file), 'utf8').split(' ')[0]))
      .filter((pid) => pid > 0 && isAlive(pid));
  }

  killRunner(pid: number): void {
    this.killedAtMs.set(pid, Number(process.hrtime.bigint()) / 1e6);
    process.kill(pid, 'SIGKILL');
  }

  /** Ends all, however they are. */
  async close(): Promise<void> {
    for (const { process: one } of this.#started) if (one.exitCode === null) one.kill('SIGKILL');
    for (const pid of existsSync(join(this.folder, 'operator')) ? this.runners() : []) this.killRunner(pid);
  }

  write(source: (typeof SOURCES)[number], name: string, text: string): void {
    writeFileSync(join(this.folder, source, name), text);
  }

  remove(source: (typeof SOURCES)[number], name: string): void {
    rmSync(join(this.folder, source, name), { force: true });
  }

  /** What the rows are to be. */
  files(): Rows {
    const rows: Rows = {};
    for (const source of SOURCES) {
      for (const name of readdirSync(join(this.folder, source)))
        rows[`${source}/${name}`] = readFileSync(join(this.folder, source, name), 'utf8');
    }
    return rows;
  }

  async rows(): Promise<Rows> {
    const { postgresUrl } = this.#options;
    return postgresUrl === undefined ? this.#sqliteRows('busy') : await postgresRows(postgresUrl);
  }

  /** Until the rows are those of the files. */
  async settled(): Promise<void> {
    const differing = async () => differences(await this.rows(), this.files());
    await eventually(differing, (missing) => missing.length === 0, 'the rows are those of the files', 120_000);
  }

  /**
   * As `settled`, after processes were killed at random: an item that ended with three of them is quarantined until it changes, so it changes.
   * Throws where one was quarantined that did not execute in three processes that were killed.
   */
  async settledAfterKills(): Promise<void> {
    const differing = async () => {
      const differ = differences(await this.rows(), this.files());
      if (differ.length > 0) for (const key of await this.#quarantined()) this.#releaseByChange(key);
      return differ;
    };
    await eventually(differing, (differ) => differ.length === 0, 'the rows are those of the files', 120_000);
  }

  #releaseByChange(key: string): void {
    const killed = killedLast(this.executions(), key, this.killedAtMs);
    if (killed < QUARANTINED_AFTER) throw new Error(`${key} is quarantined, and ended with ${killed} killed processes`);
    const file = join(this.folder, key);
    writeFileSync(file, `${readFileSync(file, 'utf8')}, and changed`);
  }

  /** Of files that are there, as the product tells them. */
  async #quarantined(): Promise<string[]> {
    const args = ['quarantine', '-f', 'fairlead.yaml', '-o', 'json'];
    const { code, stdout, stderr } = await command(args, { cwd: this.folder, env: this.#environment });
    if (code !== 0) throw new Error(stderr);
    const { items } = JSON.parse(stdout) as { items: { source: string; key: string; status: string }[] };
    const keys = items.filter(({ status }) => status === 'quarantined').map(({ source, key }) => `${source}/${key}`);
    return keys.filter((key) => existsSync(join(this.folder, key)));
  }

  /** Rows of `fairlead dev` on the same files, once and from nothing. */
  async cleanRows(): Promise<Rows> {
    const { code, stderr } = await command(['dev', '-f', 'clean.yaml'], { cwd: this.folder, env: this.#environment });
    if (code !== 0) throw new Error(stderr);
    return this.#sqliteRows('clean');
  }

  /** What runs executed, as they wrote it down themselves. */
  executions(): Execution[] {
    return executionsIn(readFileSync(join(this.folder, 'executions'), 'utf8'), this.killedAtMs);
  }

  get #environment(): Record<string, string> {
    return {
      NODE_COMPILE_CACHE: join(this.folder, 'compiled'),
      XDG_STATE_HOME: join(this.folder, 'home'),
      [DATABASE_VARIABLE]: this.#options.postgresUrl ?? '',
    };
  }

  /** The first operator takes any; those after it are found where it was. */
  async #port(): Promise<number> {
    const file = join(this.folder, 'port');
    if (!existsSync(file)) writeFileSync(file, `${await freePort()}`);
    return Number(readFileSync(file, 'utf8'));
  }

  #sqliteRows(pipeline: string): Rows {
    const file = join(this.folder, '.fairlead', `${pipeline}.db`);
    if (!existsSync(file)) return {};
    const database = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
    try {
      return rowsOf(database.prepare('SELECT source, key, text FROM busy').all() as unknown as Row[]);
    } catch (error) {
      if (error instanceof Error && error.message.includes('no such table')) return {};
      throw error;
    } finally {
      database.close();
    }
  }

  #writeObjects(file: string, isOnPostgres: boolean): void {
    const name = file === 'clean.yaml' ? 'clean' : 'busy';
    const store = isOnPostgres ? `postgres: {urlFrom: {env: ${DATABASE_VARIABLE}}}` : 'sqlite: {}';
    const target = isOnPostgres
      ? `postgres: {urlFrom: {env: ${DATABASE_VARIABLE}}, table: busy}`
      : 'sqlite: {table: busy}';
    const text = `apiVersion: fairlead.dev/v1alpha1
kind: Pipeline
metadata: {name: ${name}}
spec:
  maxInflightComponents: ${this.#options.limit}
  state: {${store}}
  runners: [{name: default, slots: ${this.#options.limit}}]
  component:
    steps:
      - read: {}
      - module: {path: busy.mjs}
      - export: {target: rows}
  targets:
    - name: rows
      ${target}
${SOURCES.map((source) => sourceText(source, name)).join('')}`;
    writeFileSync(join(this.folder, file), text);
  }
}

const sourceText = (source: (typeof SOURCES)[number], pipeline: string) => `---
apiVersion: fairlead.dev/v1alpha1
kind: LiveSource
metadata: {name: ${source}}
spec:
  pipelineRef: {name: ${pipeline}}
  source: {directory: {path: ${source}}}
  ${source === 'watched' ? 'mode: Watch' : 'interval: 1s'}
  deleteGuard: {maxPercent: 100, minItems: 1000}
`;

/** A step that takes its time, and writes down when it begins and ends. */
function busyModule(file: string, { eachMs, body }: FieldOptions): string {
  return `import { appendFileSync } from 'node:fs';
const note = (what, key) =>
  appendFileSync(${JSON.stringify(file)}, \`\${what} \${process.pid} \${Number(process.hrtime.bigint()) / 1e6} \${key}\\n\`);
export default async (elements, { item }) => {
  const key = \`\${item.source}/\${item.key}\`;
  note('begin', key);
  await new Promise((resolve) => setTimeout(resolve, ${eachMs}));
  ${body ?? ''}
  note('end', key);
  return elements;
};
`;
}

interface Row {
  readonly source: string;
  readonly key: string;
  readonly text: string;
}

function rowsOf(rows: readonly Row[]): Rows {
  const all: Rows = {};
  for (const { source, key, text } of rows) {
    const at = `${source}/${key}`;
    if (at in all) throw new Error(`${at} has two rows`);
    all[at] = text;
  }
  return all;
}

async function postgresRows(url: string): Promise<Rows> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Row>('SELECT source, key, text FROM busy');
    return rowsOf(rows);
  } catch (error) {
    if ((error as { code?: string }).code === '42P01') return {}; // The table is not made yet.
    throw error;
  } finally {
    await client.end();
  }
}

/** Keys whose rows are not as they are to be, with what is there and what ought to be. */
function differences(are: Rows, wanted: Rows): string[] {
  const keys = [...new Set([...Object.keys(are), ...Object.keys(wanted)])].filter((key) => are[key] !== wanted[key]);
  return keys.map((key) => `${key}: ${are[key] ?? 'no row'}, not ${wanted[key] ?? 'gone'}`);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
