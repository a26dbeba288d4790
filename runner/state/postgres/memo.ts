// Results of functions by key, in bulk. Rules M1 and M2 are those of the embedded store.
import { binary, type Queryable } from '../../database/index.ts';
import type { MemoChange, MemoEntry } from '../../execute/index.ts';
import { AGE_STEP_MS } from '../memo-age.ts';
import type { StateTables } from './schema.ts';

/** What a component's commit says of its memo. */
export interface ComponentMemo {
  readonly component: number;
  readonly change: MemoChange;
}

interface Owned {
  readonly component: number;
  readonly key: string;
}

export class MemoTable {
  readonly #on: Queryable;
  readonly #table: string;

  constructor(on: Queryable, tables: StateTables) {
    this.#on = on;
    this.#table = tables.table('memo');
  }

  async get(keys: readonly string[]): Promise<(Uint8Array | undefined)[]> {
    const rows = await this.#on.rows<[string, Buffer]>(
      `SELECT key, value FROM ${this.#table} WHERE key = ANY($1::text[])`,
      [binary.texts(keys)],
    );
    const values = new Map(rows);
    return keys.map((key) => values.get(key));
  }

  async putRetired(entries: readonly MemoEntry[], nowMs: number): Promise<void> {
    if (entries.length === 0) return;
    // The first of a key is the one that counts.
    const unique = lastByKey(entries.toReversed());
    await this.#on.run(
      `INSERT INTO ${this.#table} AS m (key, component, retired_at, value)
       SELECT key, NULL, $3::float8, value FROM unnest($1::text[], $2::bytea[]) AS n(key, value)
       ON CONFLICT (key) DO UPDATE SET retired_at = excluded.retired_at WHERE m.retired_at < excluded.retired_at - ${AGE_STEP_MS}`,
      [binary.texts(unique.map(({ key }) => key)), binary.bytes(unique.map(({ value }) => value)), nowMs],
    );
  }

  /** Entries of these components retire, unless what follows names them. */
  async retireAll(components: readonly number[], nowMs: number): Promise<void> {
    if (components.length === 0) return;
    await this.#on.run(
      `UPDATE ${this.#table} SET component = NULL, retired_at = $2::float8 WHERE component = ANY($1::int8[])`,
      [binary.bigints(components), nowMs],
    );
  }

  async change(memos: readonly ComponentMemo[], nowMs: number): Promise<void> {
    const owned = (keysOf: (change: MemoChange) => readonly string[]): Owned[] =>
      memos.flatMap(({ component, change }) => keysOf(change).map((key) => ({ component, key })));
    await this.#put(memos.flatMap(({ component, change }) => change.put.map((entry) => ({ ...entry, component }))));
    await this.#use(owned((change) => change.uses));
    await this.#drop(owned((change) => change.drop));
    await this.putRetired(
      memos.flatMap(({ change }) => change.retire),
      nowMs,
    );
  }

  async #put(entries: readonly (MemoEntry & Owned)[]): Promise<void> {
    const unique = lastByKey(entries);
    if (unique.length === 0) return;
    await this.#on.run(
      `INSERT INTO ${this.#table}(key, component, retired_at, value)
       SELECT key, component, NULL, value FROM unnest($1::text[], $2::int8[], $3::bytea[]) AS n(key, component, value)
       ON CONFLICT (key) DO UPDATE SET component = excluded.component, retired_at = NULL`,
      [...keysAndOwners(unique), binary.bytes(unique.map(({ value }) => value))],
    );
  }

  async #use(uses: readonly Owned[]): Promise<void> {
    if (uses.length === 0) return;
    await this.#on.run(
      `UPDATE ${this.#table} m SET component = n.component, retired_at = NULL
       FROM unnest($1::text[], $2::int8[]) AS n(key, component) WHERE m.key = n.key`,
      keysAndOwners(lastByKey(uses)),
    );
  }

  async #drop(drops: readonly Owned[]): Promise<void> {
    if (drops.length === 0) return;
    await this.#on.run(
      `DELETE FROM ${this.#table} m USING unnest($1::text[], $2::int8[]) AS n(key, component)
       WHERE m.key = n.key AND (m.component IS NULL OR m.component = n.component)`,
      keysAndOwners(drops),
    );
  }

  collect(beforeMs: number): Promise<number> {
    return this.#on.run(`DELETE FROM ${this.#table} WHERE component IS NULL AND retired_at < $1::float8`, [beforeMs]);
  }
}

function keysAndOwners(owned: readonly Owned[]): Buffer[] {
  return [binary.texts(owned.map(({ key }) => key)), binary.bigints(owned.map(({ component }) => component))];
}

/** One for each key, by key: so that concurrent transactions take rows in one order. */
function lastByKey<T extends { readonly key: string }>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [value.key, value])).values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}
