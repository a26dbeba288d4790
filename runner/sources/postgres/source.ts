// The source `postgres`: rows of a table or view.
//   Q1. A listing sees one moment of the table, so that a row which moves meanwhile is not missed.
//   Q2. A lost connection ends a watch with an error: notifications sent meanwhile are gone, and the cycle that follows finds what they
//       would have told (F3).
//   Q3. Polling the watermark sees no deletes; the periodic full cycle does.
import type { Clock } from '../../clock.ts';
import type { ItemContent, ListedItem, ListOptions, ReadOptions, Source } from '../../execute/index.ts';
import type { SourceChange } from '../../protocol/index.ts';
import { type FieldValue, StepError } from '../../sdk/index.ts';
import { ChangeQueue } from '../common/change-queue.ts';
import { show } from '../common/failure.ts';
import type { PostgresSpec } from '../common/spec.ts';
import { tooLarge } from '../common/too-large.ts';
import { orAborted, pause } from '../common/waiting.ts';
import { type Database, type Row, sqlStateOf } from './database.ts';
import { columnsOf, keyOfRow, partsOfKey, TableSql, tableName } from './table.ts';

const BATCH_MAX = 1_000;
const POLL_MS = 5_000;
/** A listening connection that does not answer is taken for dead. */
const PING_EVERY_MS = 30_000;
const PING_MAX_MS = 10_000;

const COLUMNS = `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
  WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`;

export class PostgresSource implements Source {
  readonly #spec: PostgresSpec;
  readonly #database: Database;
  readonly #clock: Clock;
  #sql: TableSql | undefined;

  constructor(spec: PostgresSpec, database: Database, clock: Clock) {
    this.#spec = spec;
    this.#database = database;
    this.#clock = clock;
  }

  async *list({ signal }: ListOptions): AsyncGenerator<readonly ListedItem[]> {
    this.#sql = undefined;
    const sql = await this.#table(signal);
    for await (const rows of this.#database.pages(sql.list(), [], BATCH_MAX, signal))
      yield rows.map((row) => this.#item(row));
  }

  async stat(key: string, signal: AbortSignal): Promise<ListedItem | undefined> {
    const row = await this.#row(key, 'stat', [], signal);
    return row && this.#item(row);
  }

  async read(key: string, _version: string, { signal, maxBytes }: ReadOptions): Promise<ItemContent | undefined> {
    const row = await this.#row(key, 'read', [maxBytes], signal);
    if (row === undefined) return undefined;
    if (row.content === null) throw tooLarge(key, Number(row.size), maxBytes);
    const bytes = typeof row.content === 'string' ? Buffer.from(row.content, 'utf8') : (row.content as Buffer);
    const fields = row.fields as Readonly<Record<string, FieldValue>>;
    return { version: String(row.version), bytes, ...(this.#spec.fields !== undefined && { fields }) };
  }

  async *watch(signal: AbortSignal): AsyncGenerator<readonly SourceChange[]> {
    signal.throwIfAborted();
    if (this.#spec.channel === undefined) yield* this.#poll(signal);
    else yield* this.#listen(this.#spec.channel, signal);
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  async *#listen(channel: string, signal: AbortSignal): AsyncGenerator<readonly SourceChange[]> {
    const queue = new ChangeQueue();
    const client = await this.#database.connect(signal);
    const lost = (why: string) =>
      queue.fail(new StepError('transient', `postgres: the connection that listens to ${channel} was lost: ${why}`));
    client.on('error', (error) => lost(error.message));
    client.on('end', () => lost('it was closed'));
    client.on('notification', ({ payload }) => queue.add([this.#changeOf(payload ?? '')]));
    const stop = new AbortController();
    try {
      await orAborted(client.query(`LISTEN "${channel}"`), signal);
      queue.arm();
      this.#ping(() => client.query('SELECT 1'), stop.signal).catch((error: unknown) => {
        if (!stop.signal.aborted) lost(String(error));
      });
      yield* queue.read(signal);
    } finally {
      stop.abort();
      client.end().catch(() => {});
    }
  }

  #changeOf(payload: string): SourceChange {
    const seenAtMs = this.#clock.nowMs();
    return payload === '' ? { key: '', kind: 'rescan', seenAtMs } : { key: payload, kind: 'unknown', seenAtMs };
  }

  async #ping(ask: () => Promise<unknown>, signal: AbortSignal): Promise<never> {
    for (;;) {
      await pause(this.#clock, PING_EVERY_MS, signal);
      const late = pause(this.#clock, PING_MAX_MS, signal).then(() => {
        throw new Error('it does not answer');
      });
      await Promise.race([ask(), late]);
      late.catch(() => {});
    }
  }

  async *#poll(signal: AbortSignal): AsyncGenerator<readonly SourceChange[]> {
    const sql = await this.#table(signal);
    let newest = await this.#newest(sql, signal);
    // Rows that were told, with their version: the margin for late transactions brings them again.
    let told = new Map<string, string>();
    for await (const rows of this.#since(sql, newest, signal))
      for (const row of rows) told.set(this.#item(row).key, String(row.version));
    yield [];
    for (;;) {
      await pause(this.#clock, POLL_MS, signal);
      const seenAtMs = this.#clock.nowMs();
      const next = await this.#newest(sql, signal);
      const again = new Map<string, string>();
      for await (const rows of this.#since(sql, newest, signal)) {
        const items = rows.map((row) => this.#item(row));
        for (const { key, version } of items) again.set(key, version);
        const changes = items.filter(({ key, version }) => told.get(key) !== version);
        if (changes.length > 0) yield changes.map(({ key }) => ({ key, kind: 'changed', seenAtMs }));
      }
      told = again;
      newest = next;
    }
  }

  async #newest(sql: TableSql, signal: AbortSignal): Promise<string | undefined> {
    const [row] = await this.#database.query(sql.newest(), [], signal);
    return (row?.newest ?? undefined) as string | undefined;
  }

  async *#since(sql: TableSql, newest: string | undefined, signal: AbortSignal): AsyncGenerator<Row[]> {
    if (newest === undefined) yield* this.#database.pages(sql.list(), [], BATCH_MAX, signal);
    else yield* this.#database.pages(sql.since(), [newest], BATCH_MAX, signal);
  }

  async #row(
    key: string,
    kind: 'stat' | 'read',
    more: readonly unknown[],
    signal: AbortSignal,
  ): Promise<Row | undefined> {
    const sql = await this.#table(signal);
    const parts = partsOfKey(key, sql.keyColumns);
    if (parts === undefined) return undefined;
    try {
      const [row] = await this.#database.query(sql[kind](), [...parts, ...more], signal);
      return row !== undefined && this.#keyOf(row) === key ? row : undefined;
    } catch (error) {
      // A text that is no value of the column's type is the key of no row.
      if (sqlStateOf(error)?.startsWith('22') === true) return undefined;
      throw error;
    }
  }

  #item(row: Row): ListedItem {
    return { key: this.#keyOf(row), version: String(row.version), sizeBytes: Number(row.size) };
  }

  #keyOf(row: Row): string {
    return keyOfRow(this.#spec.key.map((_, at) => String(row[`k${at}`])));
  }

  /** The table's SQL, by the types that its columns have now. */
  async #table(signal: AbortSignal): Promise<TableSql> {
    if (this.#sql !== undefined) return this.#sql;
    const rows = await this.#database.query(COLUMNS, [tableName(this.#spec)], signal);
    const types = new Map(rows.map(({ name, type }) => [String(name), String(type)]));
    if (types.size === 0)
      throw new StepError(
        'invalid',
        `postgres: there is no table ${tableName(this.#spec)}, or this user may not see it`,
      );
    const missing = columnsOf(this.#spec).filter((name) => !types.has(name));
    if (missing.length > 0)
      throw new StepError(
        'invalid',
        `postgres: the table ${tableName(this.#spec)} has no column ${missing.map(show).join(', ')}; it has ${[...types.keys()].join(', ')}`,
      );
    this.#sql = new TableSql(this.#spec, types);
    return this.#sql;
  }
}
