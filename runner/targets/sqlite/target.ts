// The embedded target: rows, vectors and full text in a SQLite file, its own or the state's.
//   G1. In the state's file it is a lodger: the state lends the connection and applies changes in its own transactions.
//   G2. It makes and migrates its own tables and refuses tables that are not Fairlead's, or another Pipeline's.
//   G3. A group of changes is one transaction: a reader sees all old or all new rows of each component.
import { NothingIndexed, Sqlite, type SqliteLodger } from '../../database/index.ts';
import type { RowChange, SearchHit, Target } from '../../execute/index.ts';
import { Adoption, TargetRefused } from '../ownership.ts';
import { checkVectors, type VectorColumn, vectorOf } from '../vectors.ts';
import { scanRows } from './scan.ts';
import {
  create,
  dropTables,
  foreignTables,
  isCurrent,
  isWhole,
  keepsRows,
  type Registered,
  readRegistered,
  register,
  type TargetSettings,
  wordsOf,
} from './schema.ts';
import { type Query, search } from './search.ts';
import { RowWriter } from './writer.ts';

export interface SqliteTargetOptions {
  readonly name: string;
  /** Table for the rows; others beside it begin with this name. */
  readonly table: string;
  /** Its own file; absent: the target lives in the state's file (`SqliteStateOptions.shared`). */
  readonly file?: string;
  readonly vector?: VectorColumn;
  readonly fullText?: boolean;
  /** Pipeline that writes the rows, and the state that it keeps: told apart from others that would write to the same table. */
  readonly pipeline: string;
  readonly stateId?: string;
  /** For commands that only look. */
  readonly readOnly?: boolean;
}

export class SqliteTarget implements Target, SqliteLodger<RowChange> {
  readonly name: string;
  readonly shared: boolean;
  readonly keepsVectors: boolean;
  readonly #options: SqliteTargetOptions;
  readonly #settings: TargetSettings;
  #database: Sqlite | undefined;
  #registered: Registered | undefined;

  constructor(options: SqliteTargetOptions) {
    this.name = options.name;
    this.shared = options.file === undefined;
    this.keepsVectors = options.vector !== undefined;
    this.#options = options;
    this.#settings = {
      table: options.table,
      fullText: options.fullText ?? true,
      ...(options.vector === undefined ? {} : { vector: options.vector }),
    };
  }

  get identity(): string {
    const { table, vector, generation } = this.#ready();
    return `sqlite ${table} ${vector?.dimensions ?? 0} ${vector?.metric ?? ''} ${generation}`;
  }

  lodge(database: Sqlite): void {
    if (!this.shared) throw new Error(`target ${this.name} has a file of its own`);
    this.#database = database;
  }

  async prepare(): Promise<'ready' | 'rebuilt' | 'adopted'> {
    const database = this.#open();
    if (database.readOnly) {
      this.#registered = this.#look(database);
      return this.#keepsRows(this.#registered) ? 'ready' : 'rebuilt';
    }
    return database.transact(() => this.#prepare(database));
  }

  #open(): Sqlite {
    if (this.#database !== undefined) return this.#database;
    const { file, readOnly } = this.#options;
    if (file === undefined)
      throw new Error(`target ${this.name} lives in the state's file, and no state has opened it`);
    this.#database = new Sqlite({ file, readOnly: readOnly ?? false });
    return this.#database;
  }

  #look(database: Sqlite): Registered {
    const found = readRegistered(database, this.#settings.table);
    if (found !== undefined && isWhole(database, found)) return found;
    if (found === undefined) this.#refuseForeign(database);
    const what = found === undefined ? 'nothing was indexed into' : 'somebody dropped tables of';
    throw new NothingIndexed(
      `target ${this.name}: ${what} ${this.#where(database)}${found === undefined ? ' yet' : ''}`,
    );
  }

  #keepsRows(found: Registered): boolean {
    return isCurrent(found) && keepsRows(found, this.#settings);
  }

  #where(database: Sqlite): string {
    return `table ${this.#settings.table} of ${database.file}`;
  }

  #prepare(database: Sqlite): 'ready' | 'rebuilt' | 'adopted' {
    const { pipeline, stateId } = this.#options;
    const owner = { pipeline, stateId: stateId ?? '' };
    const found = readRegistered(database, this.#settings.table);
    if (found === undefined) {
      this.#refuseForeign(database);
      this.#registered = create(database, this.#settings, owner);
      return 'ready';
    }
    const adoption = new Adoption(this.name, this.#where(database), found, owner);
    if (!this.#keepsRows(found) || !isWhole(database, found)) {
      dropTables(database, this.#settings.table);
      this.#registered = create(database, this.#settings, owner);
      return 'rebuilt';
    }
    this.#registered = { ...found, ...this.#settings, ...owner };
    register(database, this.#registered);
    this.#matchFullText(database, found);
    if (adoption.isNeeded) this.#writer().adoptAll();
    return this.#writer().hasAdopted() ? 'adopted' : 'ready';
  }

  #refuseForeign(database: Sqlite): void {
    const foreign = foreignTables(database, this.#settings.table);
    if (foreign.length === 0) return;
    throw new TargetRefused(
      this.name,
      `${foreign.join(', ')} of ${database.file} was not made by Fairlead: name another table, or drop it`,
    );
  }

  #matchFullText(database: Sqlite, found: Registered): void {
    const { table, fullText } = this.#settings;
    if (fullText === found.fullText) return;
    if (!fullText) {
      database.exec(`DROP TABLE IF EXISTS ${table}_words`);
      return;
    }
    database.exec(wordsOf(table));
    this.#writer().indexAll();
  }

  #ready(): Registered {
    if (this.#registered === undefined) throw new Error(`target ${this.name} was not prepared`);
    return this.#registered;
  }

  #writer(): RowWriter {
    this.#ready();
    return new RowWriter(this.#open(), this.#settings);
  }

  async apply(changes: readonly RowChange[]): Promise<void> {
    this.#open().transact(() => this.applyNow(changes));
  }

  applyNow(changes: readonly RowChange[]): void {
    checkVectors(this.name, this.#settings.vector, changes);
    this.#writer().apply(changes);
  }

  async vectors(keys: readonly string[]): Promise<ReadonlyMap<string, Float32Array>> {
    const found = new Map<string, Float32Array>();
    if (this.#ready().vector === undefined) return found;
    const one = this.#open().sql(`SELECT vector FROM ${this.#settings.table}_vectors WHERE key = ? LIMIT 1`);
    for (const key of keys) {
      const cells = one.get(Buffer.from(key, 'hex'));
      if (cells !== undefined) found.set(key, vectorOf((cells as unknown as [Uint8Array])[0]));
    }
    return found;
  }

  async scan(afterId: string, limit: number): Promise<readonly { readonly id: string; readonly owner: string }[]> {
    this.#ready();
    return scanRows(this.#open(), this.#settings.table, afterId, limit);
  }

  async search(query: Query): Promise<readonly SearchHit[]> {
    const database = this.#open();
    return database.snapshot(() => search(database, this.#ready(), query));
  }

  /** Removes rows of a lost state that no component has written again since `prepare` answered `adopted`. */
  async sweep(): Promise<number> {
    return this.#open().transact(() => this.#writer().sweep());
  }

  async drop(): Promise<void> {
    const database = this.#open();
    database.transact(() => {
      dropTables(database, this.#settings.table);
      if (database.hasTable('fairlead_targets'))
        database.sql('DELETE FROM fairlead_targets WHERE name = ?').run(this.#settings.table);
    });
    this.#registered = undefined;
  }

  async close(): Promise<void> {
    if (!this.shared) this.#database?.close();
    this.#database = undefined;
    this.#registered = undefined;
  }
}
