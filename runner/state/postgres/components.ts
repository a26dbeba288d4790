// Reading and writing rows of components in bulk: arrays in, one statement for each table.
import { binary, type Queryable } from '../../database/index.ts';
import type { ComponentRecord } from '../../execute/index.ts';
import type { FencingToken } from '../../protocol/index.ts';
import { joinPath, splitPath } from '../names.ts';
import { gatherRows, packRows, type RowsByTarget, unpackRows } from '../packed.ts';
import { hasSucceeded, type Row, STATUSES } from '../records.ts';
import type { StateTables } from './schema.ts';

/** A row of `components`, with its parent's path. */
export interface PlacedRow extends Row {
  readonly parent: string;
}

export type RowCells = [
  id: number,
  parent: string,
  key: string,
  isItem: boolean,
  status: number,
  version: string,
  fingerprint: string,
  hash: string,
  epoch: number,
  run: number,
  attempt: number,
  committedAt: number,
  seenAt: number,
  failures: number,
  losses: number,
  memoised: boolean,
  error: string | null,
];

const NAMES = [
  'id',
  'parent',
  'key',
  'is_item',
  'status',
  'version',
  'fingerprint',
  'hash',
  'epoch',
  'run',
  'attempt',
  'committed_at',
  'seen_at',
  'failures',
  'losses',
  'memoised',
  'error',
];
const TYPES =
  '$1::int8[], $2::text[], $3::text[], $4::bool[], $5::int4[], $6::text[], $7::text[], $8::text[], $9::int8[], $10::int8[], $11::int4[], $12::float8[], $13::float8[], $14::int4[], $15::int4[], $16::bool[], $17::text[]';

/** Columns of a row, for a SELECT from the table named so. */
export const rowColumns = (alias: string): string => NAMES.map((name) => `${alias}.${name}`).join(', ');
export const ROW_WIDTH = NAMES.length;

/** Columns that an update may change. */
const CHANGING = NAMES.filter((name) => !['id', 'parent', 'key'].includes(name));

export function toRow(cells: RowCells): PlacedRow {
  return {
    id: cells[0],
    parent: cells[1],
    key: cells[2],
    isItem: cells[3],
    status: STATUSES[cells[4]] ?? 'ok',
    version: cells[5],
    fingerprint: cells[6],
    hash: cells[7],
    token: { epoch: cells[8], run: cells[9], attempt: cells[10] },
    committedAtMs: cells[11],
    seenAtMs: cells[12],
    failures: cells[13],
    losses: cells[14],
    memoised: cells[15],
    error: cells[16],
  };
}

function arraysOf(rows: readonly PlacedRow[]): Buffer[] {
  const { bigints, booleans, doubles, ints, texts } = binary;
  return [
    bigints(rows.map((row) => row.id)),
    texts(rows.map((row) => row.parent)),
    texts(rows.map((row) => row.key)),
    booleans(rows.map((row) => row.isItem)),
    ints(rows.map((row) => STATUSES.indexOf(row.status))),
    texts(rows.map((row) => row.version)),
    texts(rows.map((row) => row.fingerprint)),
    texts(rows.map((row) => row.hash)),
    bigints(rows.map((row) => row.token.epoch)),
    bigints(rows.map((row) => row.token.run)),
    ints(rows.map((row) => row.token.attempt)),
    doubles(rows.map((row) => row.committedAtMs)),
    doubles(rows.map((row) => row.seenAtMs)),
    ints(rows.map((row) => row.failures)),
    ints(rows.map((row) => row.losses)),
    booleans(rows.map((row) => row.memoised)),
    texts(rows.map((row) => row.error)),
  ];
}

export interface StoredIntent {
  readonly component: number;
  readonly token: FencingToken;
  readonly rows: Uint8Array;
}

export interface Holding {
  readonly component: number;
  readonly rows: RowsByTarget;
  readonly value: string | undefined;
}

/** Everything below runs on the connection of a transaction, or on the pool for reads. */
export class Components {
  readonly #on: Queryable;
  readonly #tables: StateTables;

  constructor(on: Queryable, tables: StateTables) {
    this.#on = on;
    this.#tables = tables;
  }

  /** Rows of these paths by path, locked until the transaction ends; always in one order, so that two transactions never wait for each other. */
  async lock(paths: readonly string[]): Promise<Map<string, PlacedRow>> {
    const split = paths.map(splitPath);
    const rows = await this.#on.rows<RowCells>(
      `SELECT ${rowColumns('c')} FROM unnest($1::text[], $2::text[]) AS w(parent, key)
       JOIN ${this.#tables.table('components')} c ON c.parent = w.parent AND c.key = w.key
       ORDER BY c.id FOR UPDATE OF c`,
      [binary.texts(split.map(({ parent }) => parent)), binary.texts(split.map(({ segment }) => segment))],
    );
    return byPath(rows);
  }

  async insert(rows: readonly PlacedRow[]): Promise<number> {
    if (rows.length === 0) return 0;
    return this.#on.run(
      `INSERT INTO ${this.#tables.table('components')}(${NAMES.join(', ')}) SELECT * FROM unnest(${TYPES}) ON CONFLICT (parent, key) DO NOTHING`,
      arraysOf(rows),
    );
  }

  async update(rows: readonly PlacedRow[]): Promise<void> {
    if (rows.length === 0) return;
    const sets = CHANGING.map((name) => `${name} = n.${name}`).join(', ');
    await this.#on.run(
      `UPDATE ${this.#tables.table('components')} c SET ${sets} FROM unnest(${TYPES}) AS n(${NAMES.join(', ')}) WHERE c.id = n.id`,
      arraysOf(rows),
    );
  }

  async remove(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    const values = [binary.bigints(ids)];
    await this.#on.run(`DELETE FROM ${this.#tables.table('components')} WHERE id = ANY($1::int8[])`, values);
    await this.#on.run(`DELETE FROM ${this.#tables.table('holdings')} WHERE component = ANY($1::int8[])`, values);
  }

  /** New ids, in growing order. */
  async takeIds(count: number): Promise<number[]> {
    if (count === 0) return [];
    const rows = await this.#on.rows<[number]>(
      `SELECT nextval('${this.#tables.table('ids')}') FROM generate_series(1, $1)`,
      [count],
    );
    return rows.map(([id]) => id);
  }

  async hold(holdings: readonly Holding[]): Promise<void> {
    const packed = holdings.map((holding) => ({ ...holding, packed: packRows(holding.rows) }));
    const kept = packed.filter(({ packed: rows, value }) => rows !== null || value !== undefined);
    const bare = packed.filter((holding) => !kept.includes(holding));
    if (kept.length > 0)
      await this.#on.run(
        `INSERT INTO ${this.#tables.table('holdings')}(component, rows, value) SELECT * FROM unnest($1::int8[], $2::bytea[], $3::text[])
         ON CONFLICT (component) DO UPDATE SET rows = excluded.rows, value = excluded.value`,
        [
          binary.bigints(kept.map(({ component }) => component)),
          binary.bytes(kept.map((holding) => holding.packed)),
          binary.texts(kept.map(({ value }) => value)),
        ],
      );
    if (bare.length > 0)
      await this.#on.run(`DELETE FROM ${this.#tables.table('holdings')} WHERE component = ANY($1::int8[])`, [
        binary.bigints(bare.map(({ component }) => component)),
      ]);
  }

  async intents(ids: readonly number[]): Promise<StoredIntent[]> {
    if (ids.length === 0) return [];
    const rows = await this.#on.rows<[number, number, number, number, Buffer]>(
      `SELECT component, epoch, run, attempt, rows FROM ${this.#tables.table('intents')} WHERE component = ANY($1::int8[]) ORDER BY id`,
      [binary.bigints(ids)],
    );
    return rows.map(([component, epoch, run, attempt, packed]) => ({
      component,
      token: { epoch, run, attempt },
      rows: packed,
    }));
  }

  async addIntents(intents: readonly StoredIntent[]): Promise<void> {
    if (intents.length === 0) return;
    await this.#on.run(
      `INSERT INTO ${this.#tables.table('intents')}(component, epoch, run, attempt, rows)
       SELECT * FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int4[], $5::bytea[])`,
      [
        binary.bigints(intents.map(({ component }) => component)),
        binary.bigints(intents.map(({ token }) => token.epoch)),
        binary.bigints(intents.map(({ token }) => token.run)),
        binary.ints(intents.map(({ token }) => token.attempt)),
        binary.bytes(intents.map(({ rows }) => rows)),
      ],
    );
  }

  async clearIntents(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#on.run(`DELETE FROM ${this.#tables.table('intents')} WHERE component = ANY($1::int8[])`, [
      binary.bigints(ids),
    ]);
  }

  /** Records by path; absent as long as a component never succeeded and nothing of it can be in a target. */
  async records(paths: readonly string[]): Promise<Map<string, ComponentRecord>> {
    const split = paths.map(splitPath);
    const rows = await this.#on.rows<[...RowCells, Buffer | null, string | null]>(
      `SELECT ${rowColumns('c')}, h.rows, h.value FROM unnest($1::text[], $2::text[]) AS w(parent, key)
       JOIN ${this.#tables.table('components')} c ON c.parent = w.parent AND c.key = w.key
       LEFT JOIN ${this.#tables.table('holdings')} h ON h.component = c.id`,
      [binary.texts(split.map(({ parent }) => parent)), binary.texts(split.map(({ segment }) => segment))],
    );
    const found = rows.map((cells) => ({
      row: toRow(cells as unknown as RowCells),
      packed: cells[ROW_WIDTH] as Buffer | null,
      value: cells[ROW_WIDTH + 1] as string | null,
    }));
    return this.recordsOf(found);
  }

  async recordsOf(
    found: readonly { readonly row: PlacedRow; readonly packed: Buffer | null; readonly value: string | null }[],
  ): Promise<Map<string, ComponentRecord>> {
    const intents = Map.groupBy(await this.intents(found.map(({ row }) => row.id)), ({ component }) => component);
    const records = new Map<string, ComponentRecord>();
    for (const { row, packed, value } of found) {
      const open = intents.get(row.id) ?? [];
      if (!hasSucceeded(row) && open.length === 0) continue;
      const path = joinPath(row.parent, row.key);
      records.set(path, {
        path,
        fingerprint: row.fingerprint,
        contentHash: row.hash,
        token: row.token,
        rows: unpackRows(packed),
        intended: gatherRows(open.map(({ rows }) => rows)),
        memoised: row.memoised,
        ...(value === null ? {} : { value: JSON.parse(value) }),
      });
    }
    return records;
  }
}

function byPath(rows: readonly RowCells[]): Map<string, PlacedRow> {
  return new Map(rows.map((cells) => [joinPath(cells[1], cells[2]), toRow(cells)]));
}
