// The shared state: any number of runners write to it, fenced by tokens and by the epoch of the leader that they serve.
//   S1. Each call of the port is one transaction or one statement; a rejection leaves nothing written.
//   S2. Shared targets are applied inside the commit's transaction, on its connection.
//   S3. Times are the server's; one store never gives the same time twice.
import { binary, NothingIndexed, Postgres, type PostgresLodger, type Queryable } from '../../database/index.ts';
import type {
  Commit,
  CommitResult,
  Comparison,
  ComponentRecord,
  ComponentRef,
  Entered,
  Extent,
  Intent,
  ItemRecord,
  ListedItem,
  MemoEntry,
  NewWork,
  Opened,
  RowChange,
  StateStore,
  UpdateRecord,
  WorkEntry,
  WorkRef,
} from '../../execute/index.ts';
import type { Census, Json } from '../../protocol/index.ts';
import { claimed, type Epochs } from '../epochs.ts';
import { keySegment, sourcePath } from '../names.ts';
import { UPDATES_MAX } from '../records.ts';
import { TICK_MS } from '../ticks.ts';
import { Commits, type Writing } from './commits.ts';
import { Components } from './components.ts';
import { MemoTable } from './memo.ts';
import { Reading } from './reading.ts';
import { dropTables, findTables, prepareTables, type StateTables } from './schema.ts';
import { Tenure, type TenureOptions } from './tenure.ts';
import { WorkList } from './work.ts';

export interface PostgresStateOptions {
  readonly url: string;
  /** Schema for the tables; states of several Pipelines may share one. */
  readonly schema: string;
  /** `namespace/name`. */
  readonly pipeline: string;
  /** Targets that live in the same database. */
  readonly shared?: readonly PostgresLodger<RowChange>[];
  /** For commands that only look: makes nothing and claims no epoch. */
  readonly readOnly?: boolean;
  readonly connectionsMax?: number;
  /** This process says that it works on the state, and is refused where others do (`tenure.ts`). Absent: whoever opens it next just takes it. */
  readonly tenure?: TenureOptions;
}

/** First number of the advisory locks on epochs; the second is that of the state. */
const EPOCH_LOCK = 0x4645_4e43;
const NOW = 'extract(epoch FROM clock_timestamp())::float8 * 1000';

export class PostgresState implements StateStore {
  readonly #options: PostgresStateOptions;
  readonly #lodgers: ReadonlyMap<string, PostgresLodger<RowChange>>;
  #database: Postgres | undefined;
  #tables: StateTables | undefined;
  #tenure: Tenure | undefined;
  #lastMs = 0;

  constructor(options: PostgresStateOptions) {
    this.#options = options;
    this.#lodgers = new Map((options.shared ?? []).map((lodger) => [lodger.name, lodger]));
  }

  async open(epoch: number | 'next'): Promise<number> {
    if (this.#database !== undefined) throw new Error(`the state of ${this.#options.pipeline} is open already`);
    const { url, connectionsMax } = this.#options;
    const database = new Postgres({ url, ...(connectionsMax === undefined ? {} : { connectionsMax }) });
    this.#database = database;
    try {
      this.#tables = await this.#findTables(database);
      for (const lodger of this.#lodgers.values()) lodger.lodge(database);
      return this.#options.readOnly ? (await this.#seenEpochs(database)).epoch : await this.#claim(epoch);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #findTables(database: Postgres): Promise<StateTables> {
    if (!this.#options.readOnly) return prepareTables(database, this.#options);
    const found = await findTables(database, this.#options);
    if (found !== undefined) return found;
    const { pipeline, schema } = this.#options;
    throw new NothingIndexed(
      `Pipeline ${pipeline} has no state in schema ${schema} of ${database.place} yet: nothing was indexed`,
    );
  }

  async #seenEpochs(on: Queryable): Promise<Epochs> {
    const { schema, number } = this.#stateTables();
    const [row] = await on.rows<[number, number | null]>(
      `SELECT epoch, shift FROM ${schema}.states WHERE number = $1`,
      [number],
    );
    const [epoch, shift] = row ?? [0, null];
    return { epoch, ...(shift !== null && { shift }) };
  }

  async #claim(wanted: number | 'next'): Promise<number> {
    const { tenure } = this.#options;
    const { epochs, id } = await this.#open().transact((on) => this.#claimIn(on, wanted));
    if (tenure !== undefined && id !== undefined)
      this.#tenure = new Tenure(this.#open(), this.#stateTables(), id, tenure);
    return epochs.epoch;
  }

  async #claimIn(on: Queryable, wanted: number | 'next'): Promise<{ readonly epochs: Epochs; readonly id?: number }> {
    const tables = this.#stateTables();
    const { schema, number } = tables;
    await on.run('SELECT pg_advisory_xact_lock($1, $2)', [EPOCH_LOCK, number]);
    const seen = await this.#seenEpochs(on);
    const state = `of Pipeline ${this.#options.pipeline} in ${this.#open().place}`;
    const taken =
      this.#options.tenure === undefined
        ? { epochs: claimed(wanted, seen, true)! }
        : await Tenure.take(on, tables, state, { wanted, seen });
    const { epoch, shift = null } = taken.epochs;
    await on.run(`UPDATE ${schema}.states SET epoch = $1, shift = $2 WHERE number = $3`, [epoch, shift, number]);
    return taken;
  }

  async close(): Promise<void> {
    await this.#tenure?.end();
    this.#tenure = undefined;
    const database = this.#database;
    this.#database = undefined;
    this.#tables = undefined;
    await database?.close();
  }

  /** Removes the Pipeline's state and leaves the store open for nothing but `close`. */
  async drop(): Promise<void> {
    const tables = this.#stateTables();
    await this.#tenure?.end();
    await this.#open().transact((on) => dropTables(on, tables));
  }

  /** Identity of this state, for targets: a state that was lost and made anew has another one. */
  stateId(): string {
    return this.#stateTables().stateId;
  }

  #open(): Postgres {
    if (this.#database === undefined) throw new Error(`the state of ${this.#options.pipeline} is not open`);
    return this.#database;
  }

  #stateTables(): StateTables {
    if (this.#tables === undefined) throw new Error(`the state of ${this.#options.pipeline} is not open`);
    return this.#tables;
  }

  #reading(): Reading {
    return new Reading(this.#open(), this.#stateTables());
  }

  #table(name: string): string {
    return this.#stateTables().table(name);
  }

  #later(serverMs: number): number {
    this.#lastMs = Math.max(serverMs, this.#lastMs + TICK_MS);
    return this.#lastMs;
  }

  /** A fenced transaction: the epoch cannot change until it ends (C4). */
  #write<T>(body: (writing: Writing) => Promise<T>): Promise<T> {
    const { schema, number } = this.#stateTables();
    return this.#open().transact(async (on) => {
      await on.run('SELECT pg_advisory_xact_lock_shared($1, $2)', [EPOCH_LOCK, number]);
      const [row] = await on.rows<[number, number]>(`SELECT epoch, ${NOW} FROM ${schema}.states WHERE number = $1`, [
        number,
      ]);
      if (row === undefined) throw new Error(`the state of ${this.#options.pipeline} was dropped`);
      return body({ on, epoch: row[0], nowMs: this.#later(row[1]) });
    });
  }

  async nowMs(): Promise<number> {
    const [row] = await this.#open().rows<[number]>(`SELECT ${NOW}`);
    return this.#later(row?.[0] ?? 0);
  }

  compare(source: string, items: readonly ListedItem[], fingerprint: string): Promise<readonly Comparison[]> {
    return this.#reading().compare(source, items, fingerprint);
  }

  begin(components: readonly ComponentRef[]): Promise<readonly Opened[]> {
    return this.#reading().begin(components);
  }

  item(source: string, key: string): Promise<ItemRecord | undefined> {
    return this.#reading().item(source, key);
  }

  scanItems(
    filter: { readonly source?: string; readonly status?: ItemRecord['status']; readonly otherThan?: string },
    afterId: number,
    limit: number,
  ): Promise<readonly ItemRecord[]> {
    return this.#reading().scanItems(filter, afterId, limit);
  }

  scanKeys(source: string, afterId: number, limit: number) {
    return this.#reading().scanKeys(source, afterId, limit);
  }

  extent(source: string): Promise<Extent> {
    return this.#reading().extent(source);
  }

  async census(): Promise<Census> {
    const atMs = await this.nowMs(); // before it is counted: what is committed meanwhile belongs to a later one
    return { atMs, sources: await this.#reading().heldItems() };
  }

  async release(source: string | undefined, keys?: readonly string[]): Promise<number> {
    const values: (string | Buffer)[] = [];
    const wheres = ['status = 2'];
    if (source !== undefined) wheres.push(`parent = $${values.push(sourcePath(source))}`);
    if (keys !== undefined) wheres.push(`key = ANY($${values.push(binary.texts(keys.map(keySegment)))}::text[])`);
    return this.#open().run(
      `UPDATE ${this.#table('components')} SET status = 1, failures = 0, losses = 0 WHERE ${wheres.join(' AND ')}`,
      values,
    );
  }

  enter(work: readonly NewWork[]): Promise<readonly Entered[]> {
    return this.#open().transact((on) => new WorkList(on, this.#stateTables()).enter(work));
  }

  takeWork(update: string, afterSeq: number, limit: number): Promise<readonly WorkEntry[]> {
    return this.#work().take(update, afterSeq, limit);
  }

  #work(): WorkList {
    return new WorkList(this.#open(), this.#stateTables());
  }

  async startWork(entries: readonly WorkRef[]): Promise<void> {
    await this.#work().mark(entries, true);
  }

  async restWork(entries: readonly WorkRef[]): Promise<void> {
    await this.#work().mark(entries, false);
  }

  countWork(filter: { readonly update?: string; readonly source?: string }): Promise<number> {
    return this.#work().count(filter);
  }

  adoptWork(source: string, update: string, open: readonly string[]): Promise<number> {
    return this.#open().transact((on) => new WorkList(on, this.#stateTables()).adopt(source, update, open));
  }

  dropWork(update: string, items: Parameters<StateStore['dropWork']>[1]): Promise<void> {
    return this.#work().drop(update, items);
  }

  async components(paths: readonly string[]): Promise<readonly (ComponentRecord | undefined)[]> {
    const records = await new Components(this.#open(), this.#stateTables()).records(paths);
    return paths.map((path) => records.get(path));
  }

  children(path: string, afterPath: string, limit: number): Promise<readonly string[]> {
    return this.#reading().children(path, afterPath, limit);
  }

  intend(intents: readonly Intent[]): Promise<readonly CommitResult[]> {
    return this.#write((writing) => new Commits(writing, this.#stateTables()).intend(intents));
  }

  doubt(intents: readonly Intent[]): Promise<void> {
    return this.#write((writing) => new Commits(writing, this.#stateTables()).doubt(intents));
  }

  commit(group: readonly Commit[]): Promise<readonly CommitResult[]> {
    return this.#write((writing) => new Commits(writing, this.#stateTables()).commit(group, this.#lodgers));
  }

  readonly memo: StateStore['memo'] = {
    get: (keys) => this.#memoTable().get(keys),
    put: async (entries: readonly MemoEntry[]) => this.#memoTable().putRetired(entries, await this.nowMs()),
    collect: async (maxAgeMs) => this.#memoTable().collect((await this.nowMs()) - maxAgeMs),
  };

  #memoTable(): MemoTable {
    return new MemoTable(this.#open(), this.#stateTables());
  }

  async cursor(path: string): Promise<Json | undefined> {
    const [row] = await this.#open().rows<[string]>(`SELECT value FROM ${this.#table('cursors')} WHERE path = $1`, [
      path,
    ]);
    return row === undefined ? undefined : (JSON.parse(row[0]) as Json);
  }

  async cursors(path: string, afterPath: string, limit: number) {
    const rows = await this.#open().rows<[string, string]>(
      `SELECT path, value FROM ${this.#table('cursors')} WHERE (path = $1 OR (path > $2 AND path < $3)) AND path > $4 ORDER BY path LIMIT $5`,
      [path, `${path}/`, `${path}0`, afterPath, limit],
    );
    return rows.map(([found, value]) => ({ path: found, value: JSON.parse(value) as Json }));
  }

  async setCursor(path: string, value: Json): Promise<void> {
    await this.#open().run(
      `INSERT INTO ${this.#table('cursors')}(path, value) VALUES ($1, $2) ON CONFLICT (path) DO UPDATE SET value = excluded.value`,
      [path, JSON.stringify(value)],
    );
  }

  async saveUpdate(update: UpdateRecord): Promise<void> {
    const table = this.#table('updates');
    await this.#open().run(
      `INSERT INTO ${table}(name, record) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET record = excluded.record`,
      [update.name, JSON.stringify(update)],
    );
    await this.#open().run(
      `DELETE FROM ${table} WHERE id <= (SELECT id FROM ${table} ORDER BY id DESC OFFSET $1 LIMIT 1)`,
      [UPDATES_MAX],
    );
  }

  async updates(limit: number): Promise<readonly UpdateRecord[]> {
    const rows = await this.#open().rows<[string]>(
      `SELECT record FROM ${this.#table('updates')} ORDER BY id DESC LIMIT $1`,
      [limit],
    );
    return rows.map(([record]) => JSON.parse(record) as UpdateRecord);
  }

  sizes() {
    return this.#reading().sizes();
  }
}
