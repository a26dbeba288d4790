// The target in Postgres: rows with vectors (pgvector) and full text (tsvector), in a database of its own or in the state's.
//   G1. In the state's database it is a lodger: the state applies changes on the connection of its own transactions.
//   G2. It makes and migrates its own table and refuses a table that is not Fairlead's, or another Pipeline's.
//   G3. A group of changes is one transaction: a reader sees all old or all new rows of each component.
import { binary, NothingIndexed, Postgres, type PostgresLodger, type Queryable } from '../../database/index.ts';
import type { RowChange, SearchHit, Target } from '../../execute/index.ts';
import { Adoption, TargetRefused } from '../ownership.ts';
import { checkVectors, type VectorColumn } from '../vectors.ts';
import {
  create,
  dropTable,
  forget,
  hasTable,
  isCurrent,
  keepsRows,
  type Registered,
  readRegistered,
  register,
  requireVector,
  type TargetSettings,
  tableOf,
  wordsOf,
} from './schema.ts';
import { type Query, search } from './search.ts';
import { NO_ID, RowWriter } from './writer.ts';

export interface PostgresTargetOptions {
  readonly name: string;
  readonly schema: string;
  readonly table: string;
  /** Its own database; absent: the target lives in the state's (`PostgresStateOptions.shared`). */
  readonly url?: string;
  readonly vector?: VectorColumn;
  readonly fullText?: boolean;
  /** Text search configuration, such as `english`; default `simple`. */
  readonly language?: string;
  readonly pipeline: string;
  readonly stateId?: string;
  /** For commands that only look. */
  readonly readOnly?: boolean;
}

/** Taken while tables are made, so that runners that start together do not collide. Any constant will do. */
const MAKING_LOCK = 0x4641_4954;

export class PostgresTarget implements Target, PostgresLodger<RowChange> {
  readonly name: string;
  readonly shared: boolean;
  readonly keepsVectors: boolean;
  readonly #options: PostgresTargetOptions;
  readonly #settings: TargetSettings;
  #database: Postgres | undefined;
  #registered: Registered | undefined;
  #vectorType = 0;
  #hasAdopted = false;

  constructor(options: PostgresTargetOptions) {
    this.name = options.name;
    this.shared = options.url === undefined;
    this.keepsVectors = options.vector !== undefined;
    this.#options = options;
    this.#settings = {
      schema: options.schema,
      table: options.table,
      fullText: options.fullText ?? true,
      language: options.language ?? 'simple',
      ...(options.vector === undefined ? {} : { vector: options.vector }),
    };
  }

  get identity(): string {
    const { generation, vector } = this.#ready();
    return `postgres ${tableOf(this.#settings)} ${vector?.dimensions ?? 0} ${vector?.metric ?? ''} ${generation}`;
  }

  lodge(database: Postgres): void {
    if (!this.shared) throw new Error(`target ${this.name} has a database of its own`);
    this.#database = database;
  }

  #open(): Postgres {
    if (this.#database !== undefined) return this.#database;
    const { url } = this.#options;
    if (url === undefined)
      throw new Error(`target ${this.name} lives in the state's database, and no state has opened it`);
    this.#database = new Postgres({ url });
    return this.#database;
  }

  #ready(): Registered {
    if (this.#registered === undefined) throw new Error(`target ${this.name} was not prepared`);
    return this.#registered;
  }

  async prepare(): Promise<'ready' | 'rebuilt' | 'adopted'> {
    const database = this.#open();
    if (this.#options.readOnly) this.#registered = await this.#look(database);
    else if (this.#settings.vector !== undefined) await requireVector(database, this.name);
    if (this.#settings.vector !== undefined) this.#vectorType = await database.typeId('vector');
    if (this.#options.readOnly) return this.#keepsRows(this.#ready()) ? 'ready' : 'rebuilt';
    return database.transact((on) => this.#prepare(on));
  }

  async #look(database: Postgres): Promise<Registered> {
    const found = await this.#found(database);
    if (found !== undefined) return found;
    throw new NothingIndexed(`target ${this.name}: nothing was indexed into ${this.#where()} yet`);
  }

  #keepsRows(found: Registered): boolean {
    return isCurrent(found) && keepsRows(found, this.#settings);
  }

  #where(): string {
    return `table ${tableOf(this.#settings)} of ${this.#open().place}`;
  }

  async #prepare(on: Queryable): Promise<'ready' | 'rebuilt' | 'adopted'> {
    await on.run('SELECT pg_advisory_xact_lock($1)', [MAKING_LOCK]);
    await on.run(`CREATE SCHEMA IF NOT EXISTS ${this.#settings.schema}`);
    const owner = { pipeline: this.#options.pipeline, stateId: this.#options.stateId ?? '' };
    const found = await this.#found(on);
    if (found === undefined) {
      this.#registered = await create(on, this.#settings, owner);
      return 'ready';
    }
    const adoption = new Adoption(this.name, this.#where(), found, owner);
    if (!this.#keepsRows(found)) {
      await dropTable(on, this.#settings);
      this.#registered = await create(on, this.#settings, owner);
      return 'rebuilt';
    }
    const { schema, ...settings } = this.#settings;
    this.#registered = { ...found, ...settings, ...owner };
    await register(on, schema, this.#registered);
    await this.#matchFullText(on, found);
    if (adoption.isNeeded) await on.run(`UPDATE ${tableOf(this.#settings)} SET adopted = true`);
    this.#hasAdopted = await this.#anyAdopted(on);
    return this.#hasAdopted ? 'adopted' : 'ready';
  }

  /** What is registered and there; a table that is there and not registered is somebody else's. */
  async #found(on: Queryable): Promise<Registered | undefined> {
    const registered = await readRegistered(on, this.#settings);
    const exists = await hasTable(on, tableOf(this.#settings));
    if (exists && registered === undefined)
      throw new TargetRefused(this.name, `${this.#where()} was not made by Fairlead: name another table, or drop it`);
    return exists ? registered : undefined;
  }

  async #anyAdopted(on: Queryable): Promise<boolean> {
    return (await on.rows(`SELECT 1 FROM ${tableOf(this.#settings)} WHERE adopted LIMIT 1`)).length > 0;
  }

  async #matchFullText(on: Queryable, found: Registered): Promise<void> {
    const { fullText, language } = this.#settings;
    if (fullText === found.fullText && language === found.language) return;
    if (found.fullText) await on.run(`ALTER TABLE ${tableOf(this.#settings)} DROP COLUMN IF EXISTS words`);
    if (!fullText) return;
    for (const statement of wordsOf(this.#settings)) await on.run(statement);
    await this.#writer(on).indexAll();
  }

  #writer(on: Queryable): RowWriter {
    this.#ready();
    return new RowWriter(on, this.#settings, this.#vectorType);
  }

  async apply(changes: readonly RowChange[]): Promise<void> {
    checkVectors(this.name, this.#settings.vector, changes);
    await this.#open().transact((on) => this.#writer(on).apply(changes, this.#hasAdopted));
  }

  async applyIn(connection: Queryable, changes: readonly RowChange[]): Promise<void> {
    checkVectors(this.name, this.#settings.vector, changes);
    await this.#writer(connection).apply(changes, this.#hasAdopted);
  }

  async vectors(keys: readonly string[]): Promise<ReadonlyMap<string, Float32Array>> {
    if (this.#ready().vector === undefined || keys.length === 0) return new Map();
    const rows = await this.#open().rows<[string, string]>(
      `SELECT DISTINCT ON (vector_key) vector_key, embedding::text FROM ${tableOf(this.#settings)} WHERE vector_key = ANY($1::uuid[])`,
      [binary.uuids(keys)],
    );
    return new Map(rows.map(([key, text]) => [key.replaceAll('-', ''), Float32Array.from(JSON.parse(text))]));
  }

  async scan(afterId: string, limit: number): Promise<readonly { readonly id: string; readonly owner: string }[]> {
    this.#ready();
    const rows = await this.#open().rows<[string, string]>(
      `SELECT id, owner FROM ${tableOf(this.#settings)} WHERE ${afterId === '' ? 'id >= $1' : 'id > $1'} ORDER BY id LIMIT $2`,
      [afterId === '' ? NO_ID : afterId, limit],
    );
    return rows.map(([id, owner]) => ({ id: id.replaceAll('-', ''), owner }));
  }

  async search(query: Query): Promise<readonly SearchHit[]> {
    this.#ready();
    return this.#open().snapshot((on) => search(on, this.#settings, query));
  }

  /** Removes rows of a lost state that no component has written again since `prepare` answered `adopted`. */
  async sweep(): Promise<number> {
    const [row] = await this.#open().rows<[number]>(
      `WITH gone AS (DELETE FROM ${tableOf(this.#settings)} WHERE adopted RETURNING owner) SELECT count(DISTINCT owner) FROM gone`,
    );
    this.#hasAdopted = false;
    return row?.[0] ?? 0;
  }

  async drop(): Promise<void> {
    await this.#open().transact(async (on) => {
      await dropTable(on, this.#settings);
      await forget(on, this.#settings);
    });
    this.#registered = undefined;
  }

  async close(): Promise<void> {
    const database = this.#database;
    this.#database = undefined;
    this.#registered = undefined;
    if (!this.shared) await database?.close();
  }
}
