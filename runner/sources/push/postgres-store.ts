// Pushed items where several runners share a state in Postgres: any of them takes messages, one of them watches.
//   P1. A message is kept whole or not at all, in one statement: whether it was kept before, its items, and who is told.
//   P2. The watcher hears of it as soon as it is committed (NOTIFY). A connection that breaks ends the watch, and the next one begins with a
//       listing, so nothing is missed.
//   P3. Tables are made with the first message; before it there are no items.
import type pg from 'pg';
import type { ListedItem } from '../../execute/index.ts';
import type { SourceChange } from '../../protocol/index.ts';
import { StepError } from '../../sdk/index.ts';
import { ChangeQueue } from '../common/change-queue.ts';
import { type Database, sqlStateOf } from '../postgres/database.ts';
import type { KeptMessage, PushStore, StoredItem } from './store.ts';

export interface PostgresPushOptions {
  readonly database: Database;
  /** Of the state; it is there. */
  readonly schema: string;
  /** `namespace/name` of the Pipeline. */
  readonly pipeline: string;
  readonly source: string;
}

const PAGE = 500;
const CHANNEL = 'fairlead_pushed';
const NO_TABLE = '42P01';
/** Taken while tables are made, so that runners do not collide. Any constant will do. */
const MAKING_LOCK = 0x5055_5348;

export class PostgresPushStore implements PushStore {
  readonly #options: PostgresPushOptions;

  constructor(options: PostgresPushOptions) {
    this.#options = options;
  }

  async keep(message: KeptMessage): Promise<boolean> {
    try {
      return await this.#keep(message);
    } catch (error) {
      if (sqlStateOf(error) !== NO_TABLE) throw error;
      await this.#query(tablesOf(this.#options.schema), []); // P3
      return this.#keep(message);
    }
  }

  /** P1. */
  async #keep({ identity, untilMs, items, changes }: KeptMessage): Promise<boolean> {
    const { schema, pipeline, source } = this.#options;
    const told = changes.map((change) => JSON.stringify([pipeline, source, change]));
    const rows = await this.#query(keepIn(schema), [
      pipeline,
      source,
      identity,
      untilMs / 1_000,
      items.map(({ key }) => key),
      items.map((item) => (item.content === undefined ? null : item.version)),
      items.map(({ content }) => content ?? null),
      told,
    ]);
    return rows.length > 0;
  }

  async get(key: string): Promise<StoredItem | undefined> {
    if (key.includes('\0')) return undefined; // no text of Postgres has one
    const { schema, pipeline, source } = this.#options;
    const text = `SELECT version, content FROM ${schema}.pushed_items WHERE pipeline = $1 AND source = $2 AND key = $3`;
    const [row] = await orNone(this.#query(text, [pipeline, source, key]));
    if (row === undefined) return undefined;
    const { version, content } = row as { version: string; content: Buffer };
    return { key, version, sizeBytes: content.length, content };
  }

  async *list(): AsyncGenerator<readonly ListedItem[]> {
    const { schema, pipeline, source } = this.#options;
    const text = `SELECT key, version, octet_length(content) AS size FROM ${schema}.pushed_items
      WHERE pipeline = $1 AND source = $2 AND key > $3 ORDER BY key LIMIT ${PAGE}`;
    for (let after = ''; ; ) {
      const rows = (await orNone(this.#query(text, [pipeline, source, after]))) as {
        key: string;
        version: string;
        size: number;
      }[];
      if (rows.length > 0) yield rows.map(({ key, version, size }) => ({ key, version, sizeBytes: size }));
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      after = last.key;
    }
  }

  /** P2. */
  async *follow(signal: AbortSignal): AsyncGenerator<readonly SourceChange[]> {
    const client = await this.#options.database.connect(signal);
    const queue = new ChangeQueue();
    try {
      client.on('notification', ({ payload = '' }) => this.#heard(queue, payload));
      client.on('end', () => queue.fail(new StepError('transient', 'the connection for pushed items has ended')));
      await client.query(`LISTEN ${CHANNEL}`);
      queue.arm();
      yield* queue.read(signal);
    } finally {
      await ended(client);
    }
  }

  async close(): Promise<void> {
    await this.#options.database.close();
  }

  #heard(queue: ChangeQueue, payload: string): void {
    const [pipeline, source, change] = JSON.parse(payload) as [string, string, SourceChange];
    if (pipeline === this.#options.pipeline && source === this.#options.source) queue.add([change]);
  }

  #query(text: string, values: readonly unknown[]) {
    return this.#options.database.query(text, values, NEVER);
  }
}

const NEVER = new AbortController().signal;

async function ended(client: pg.Client): Promise<void> {
  client.removeAllListeners('end');
  await client.end().catch(() => {});
}

async function orNone<T>(rows: Promise<T[]>): Promise<T[]> {
  try {
    return await rows;
  } catch (error) {
    if (sqlStateOf(error) === NO_TABLE) return []; // P3
    throw error;
  }
}

const tablesOf = (schema: string): string => `
  BEGIN;
  SELECT pg_advisory_xact_lock(${MAKING_LOCK});
  CREATE TABLE IF NOT EXISTS ${schema}.pushed_items(
    pipeline text NOT NULL, source text NOT NULL, key text COLLATE "C" NOT NULL, version text NOT NULL, content bytea NOT NULL,
    PRIMARY KEY (pipeline, source, key)
  );
  CREATE TABLE IF NOT EXISTS ${schema}.pushed_messages(
    pipeline text NOT NULL, source text NOT NULL, identity text NOT NULL, until timestamptz NOT NULL,
    PRIMARY KEY (pipeline, source, identity)
  );
  COMMIT`;

/** One row for each change where the message is new, else none. */
const keepIn = (schema: string): string => `
  WITH forgotten AS (
    DELETE FROM ${schema}.pushed_messages WHERE pipeline = $1 AND source = $2 AND until < now() AND identity <> $3
  ), fresh AS (
    INSERT INTO ${schema}.pushed_messages(pipeline, source, identity, until) VALUES ($1, $2, $3, to_timestamp($4))
    ON CONFLICT DO NOTHING RETURNING 1
  ), given AS (
    SELECT DISTINCT ON (key) key, version, content
    FROM unnest($5::text[], $6::text[], $7::bytea[]) WITH ORDINALITY AS all_of(key, version, content, place)
    ORDER BY key, place DESC
  ), put AS (
    INSERT INTO ${schema}.pushed_items(pipeline, source, key, version, content)
    SELECT $1, $2, key, version, content FROM given, fresh WHERE content IS NOT NULL
    ON CONFLICT (pipeline, source, key) DO UPDATE SET version = excluded.version, content = excluded.content
  ), gone AS (
    DELETE FROM ${schema}.pushed_items AS items USING given, fresh
    WHERE items.pipeline = $1 AND items.source = $2 AND items.key = given.key AND given.content IS NULL
  )
  SELECT pg_notify('${CHANNEL}', told) FROM unnest($8::text[]) AS told, fresh`;

/** Takes away what was kept for a source, or for the whole Pipeline. */
export async function forgetPushed(
  database: Database,
  {
    schema,
    pipeline,
    source,
  }: { readonly schema: string; readonly pipeline: string; readonly source: string | undefined },
): Promise<void> {
  for (const table of ['pushed_items', 'pushed_messages']) {
    const text = `DELETE FROM ${schema}.${table} WHERE pipeline = $1 AND source = coalesce($2, source)`;
    await orNone(database.query(text, [pipeline, source ?? null], NEVER));
  }
}
