// A connection to SQLite as the state and the targets use it: one writer, write-ahead log, prepared statements kept.
//   Q1. Commits are durable against the death of the process at any moment (WAL, synchronous NORMAL); a power cut may lose
//       the last commits, never tear one.
//   Q2. Everything runs synchronously: a transaction is one turn of the event loop, so no two of them interleave.
//   Q3. A read-only connection never blocks the writer and is never blocked by it, and leaves no file behind.
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { load as loadVectorFunctions } from 'sqlite-vec';
import { NothingIndexed } from './nothing-indexed.ts';
import { CANNOT_OPEN, READ_ONLY, sqliteAdvice, sqliteCode } from './sqlite-failure.ts';

export interface SqliteOptions {
  readonly file: string;
  readonly readOnly?: boolean;
}

/** Five 384-dimension vectors fit a page of 8 KiB and two one of 4 KiB: measured, that halves the time of inserting them. */
const PAGE_BYTES = 8192;
const CACHE_KIB = 65_536;
/** Pages in the log before they are copied into the file: 32 MiB. A smaller log copies hot pages too often during a first index. */
const CHECKPOINT_PAGES = 4096;
const LOG_LIMIT_BYTES = 64 * 1024 * 1024;
/** A reader that opens while the writer makes the file waits this long. */
const BUSY_MS = 5000;

export class Sqlite {
  readonly file: string;
  readonly readOnly: boolean;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** Reading makes a log, which only a connection that may write takes away again. */
  readonly #madeLog: boolean;

  constructor(options: SqliteOptions) {
    this.file = options.file;
    this.readOnly = options.readOnly ?? false;
    this.#madeLog = this.readOnly && !existsSync(`${this.file}-wal`);
    this.#database = explained(this.file, this.readOnly, () =>
      this.readOnly ? openToRead(this.file) : open(this.file, false),
    );
  }

  /** The prepared statement of this text; rows come as arrays, in the order of the columns. */
  sql(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#database.prepare(text);
      statement.setReturnArrays(true);
      this.#statements.set(text, statement);
    }
    return statement;
  }

  /** Runs statements that return nothing, such as a schema. */
  exec(text: string): void {
    this.#database.exec(text);
  }

  /** Runs `body` in one write transaction, or as part of the one that is open. Throwing undoes all of it. */
  transact<T>(body: () => T): T {
    if (this.#database.isTransaction) return body();
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = body();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /** Runs several reads on one state of the file, however much another process commits meanwhile. */
  snapshot<T>(body: () => T): T {
    if (this.#database.isTransaction) return body();
    this.#database.exec('BEGIN');
    try {
      return body();
    } finally {
      this.#database.exec('COMMIT');
    }
  }

  hasTable(name: string): boolean {
    return this.sql('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined;
  }

  hasRows(table: string): boolean {
    return this.sql(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined;
  }

  sizeBytes(): number {
    const [pages] = this.sql('PRAGMA page_count').get() as unknown as [number];
    const [pageBytes] = this.sql('PRAGMA page_size').get() as unknown as [number];
    return pages * pageBytes;
  }

  close(): void {
    this.#statements.clear();
    if (!this.#database.isOpen) return;
    this.#database.close();
    if (this.#madeLog) removeEmptyLog(this.file);
  }
}

/** The last connection that closes takes the log away; while another one has the file, this does nothing. */
function removeEmptyLog(file: string): void {
  try {
    const database = new DatabaseSync(file);
    database.exec('SELECT 1 FROM sqlite_schema');
    database.close();
  } catch {
    // A folder that cannot be written keeps it; it is empty.
  }
}

/** Reading needs a log beside the file. Where none can be made (a volume that is read-only) and none is left, the file is read as it stands. */
function openToRead(file: string): DatabaseSync {
  try {
    return open(file, true);
  } catch (error) {
    const code = sqliteCode(error);
    const isWhole = (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;
    if ((code !== READ_ONLY && code !== CANNOT_OPEN) || !isWhole) throw error;
    const asItStands = pathToFileURL(file);
    asItStands.searchParams.set('immutable', '1');
    return open(asItStands, true);
  }
}

function open(file: string | URL, readOnly: boolean): DatabaseSync {
  const database = new DatabaseSync(file, {
    allowExtension: true,
    readOnly,
    timeout: BUSY_MS,
    enableForeignKeyConstraints: false,
  });
  try {
    loadVectorFunctions(database);
    database.enableLoadExtension(false);
    database.exec(`PRAGMA cache_size=-${CACHE_KIB}`);
    if (!readOnly) database.exec(WRITER);
    // The first read finds out whether this is a database at all.
    else database.exec('SELECT 1 FROM sqlite_schema');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opening names the file and what to do, which SQLite's own words do not. */
export function explained<T>(file: string, readOnly: boolean, body: () => T): T {
  if (readOnly && !existsSync(file))
    throw new NothingIndexed(`there is no file ${file}: nothing was indexed into it yet`);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`${file} is a folder: name another file`);
  try {
    return body();
  } catch (error) {
    const { message } = error as Error;
    if (message === 'file is not a database')
      throw new Error(`${file} is not a SQLite file: name another file, or move it away`, { cause: error });
    const advice = sqliteAdvice(error);
    throw new Error(`the file ${file} cannot be opened: ${message}${advice === undefined ? '' : ` (${advice})`}`, {
      cause: error,
    });
  }
}

const WRITER = `
  PRAGMA page_size=${PAGE_BYTES};
  PRAGMA journal_mode=WAL;
  PRAGMA synchronous=NORMAL;
  PRAGMA wal_autocheckpoint=${CHECKPOINT_PAGES};
  PRAGMA journal_size_limit=${LOG_LIMIT_BYTES};
`;

/** A target whose tables live in the state's file: the state lends it the connection and applies its changes in its own transactions. */
export interface SqliteLodger<Change> {
  readonly name: string;
  /** Called by the state once its file is open, before `prepare`. */
  lodge(database: Sqlite): void;
  /** Applies changes inside the transaction that is open. */
  applyNow(changes: readonly Change[]): void;
}
