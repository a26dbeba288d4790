// Rows of components and items: reading them, writing them, comparing a listing with them.
import type { SQLInputValue } from 'node:sqlite';
import { BulkInsert, type Sqlite } from '../../database/index.ts';
import type { ComponentRecord, ItemRecord } from '../../execute/index.ts';
import type { FencingToken } from '../../protocol/index.ts';
import { joinPath, type SplitPath, segmentKey, splitPath } from '../names.ts';
import { gatherRows, packRows, type RowsByTarget, unpackRows } from '../packed.ts';
import { blankRow, hasSucceeded, itemOf, type Row, STATUSES } from '../records.ts';
import { Ids } from './ids.ts';
import { Interned } from './interned.ts';

/** A row of `components`, with the id of its parent's path. */
export interface PlacedRow extends Row {
  readonly parent: number;
}

const COLUMNS =
  'id, parent, key, is_item, status, version, fingerprint, hash, epoch, run, attempt, committed_at, seen_at, failures, losses, memoised, error';
/** The key of a row never changes, so an update leaves the indexes alone. */
const INSERT = `INSERT INTO components(${COLUMNS})`;
const VALUES = '(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)';
const FIND = `SELECT ${COLUMNS} FROM components WHERE parent = ? AND key = ?`;
const HAS = 'SELECT 1 FROM components WHERE parent = ? AND key = ?';
const WRITE = `${INSERT} VALUES ${VALUES}
  ON CONFLICT(id) DO UPDATE SET (is_item, status, version, fingerprint, hash, epoch, run, attempt, committed_at, seen_at, failures, losses, memoised, error)
  = (excluded.is_item, excluded.status, excluded.version, excluded.fingerprint, excluded.hash, excluded.epoch, excluded.run, excluded.attempt,
     excluded.committed_at, excluded.seen_at, excluded.failures, excluded.losses, excluded.memoised, excluded.error)`;

export class Components {
  readonly parents: Interned;
  readonly ids: Ids;
  readonly #database: Sqlite;
  readonly #inserter: BulkInsert;
  /** Most states never have one: then nothing is asked of the table. Only the writer can know. */
  #mayHaveIntents: boolean;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#inserter = new BulkInsert(database, INSERT, VALUES);
    this.parents = new Interned(database, 'parents', 'path');
    this.ids = new Ids(database);
    this.#mayHaveIntents = database.readOnly || database.hasRows('intents');
  }

  find(path: SplitPath): PlacedRow | undefined {
    const parent = this.parents.find(path.parent);
    return parent === undefined ? undefined : this.findIn(parent, path.segment);
  }

  has(path: SplitPath): boolean {
    const parent = this.parents.find(path.parent);
    return parent !== undefined && this.#database.sql(HAS).get(parent, path.segment) !== undefined;
  }

  findIn(parent: number, segment: string): PlacedRow | undefined {
    const cells = this.#database.sql(FIND).get(parent, segment);
    return cells === undefined ? undefined : toRow(cells);
  }

  /** Pages of rows by ascending id; `where` names what they are filtered by. */
  scan(where: string, values: readonly (string | number)[], afterId: number, limit: number): PlacedRow[] {
    return this.#database
      .sql(`SELECT ${COLUMNS} FROM components WHERE ${where} AND id > ? ORDER BY id LIMIT ?`)
      .all(...values, afterId, limit)
      .map(toRow);
  }

  /** Inserts a row, or updates the one with its id. */
  write(row: PlacedRow): void {
    this.#database.sql(WRITE).run(...cellsOf(row));
  }

  /** Inserts rows until one of them has a path that is taken; answers how many it inserted. */
  insertNew(rows: readonly PlacedRow[]): number {
    return this.#inserter.insert(rows, putCells);
  }

  /** Where the row of a path that has none will stand. */
  place(path: SplitPath): Pick<PlacedRow, 'id' | 'parent' | 'key'> {
    return { id: this.ids.next(), parent: this.parents.ensure(path.parent), key: path.segment };
  }

  /** A blank row for a path that has none; not written yet. */
  blank(path: SplitPath, isItem: boolean): PlacedRow {
    const { id, parent, key } = this.place(path);
    return { ...blankRow(id, key, isItem), parent };
  }

  remove(row: PlacedRow, path: string): void {
    this.#database.sql('DELETE FROM components WHERE id = ?').run(row.id);
    this.#database.sql('DELETE FROM holdings WHERE component = ?').run(row.id);
    this.clearIntents(row.id);
    const asParent = this.parents.find(path);
    if (asParent !== undefined && this.#isBarren(asParent)) this.parents.remove(path);
  }

  #isBarren(parent: number): boolean {
    return (
      this.#database.sql('SELECT 1 FROM components WHERE parent = ? LIMIT 1').get(parent) === undefined &&
      this.#database.sql('SELECT 1 FROM work WHERE parent = ? LIMIT 1').get(parent) === undefined
    );
  }

  hold(id: number, isNew: boolean, rows: RowsByTarget, value: string | undefined): void {
    const packed = packRows(rows);
    if (packed !== null || value !== undefined)
      this.#database
        .sql('INSERT OR REPLACE INTO holdings(component, rows, value) VALUES (?, ?, ?)')
        .run(id, packed, value ?? null);
    else if (!isNew) this.#database.sql('DELETE FROM holdings WHERE component = ?').run(id);
  }

  addIntent(id: number, token: FencingToken, rows: RowsByTarget): void {
    const packed = packRows(rows) ?? new Uint8Array();
    this.#mayHaveIntents = true;
    this.#database
      .sql('INSERT INTO intents(component, epoch, run, attempt, rows) VALUES (?, ?, ?, ?, ?)')
      .run(id, token.epoch, token.run, token.attempt, packed);
  }

  clearIntents(id: number): void {
    if (!this.#mayHaveIntents) return;
    this.#database.sql('DELETE FROM intents WHERE component = ?').run(id);
  }

  /** Tokens and packed rows of a component's intents, oldest first. */
  intents(id: number): { readonly token: FencingToken; readonly rows: Uint8Array }[] {
    if (!this.#mayHaveIntents) return [];
    return this.#database
      .sql('SELECT epoch, run, attempt, rows FROM intents WHERE component = ? ORDER BY id')
      .all(id)
      .map((cells) => {
        const [epoch, run, attempt, rows] = cells as unknown as [number, number, number, Uint8Array];
        return { token: { epoch, run, attempt }, rows };
      });
  }

  /** Absent as long as the component never succeeded and nothing of it can be in a target. */
  record(row: PlacedRow, path: string): ComponentRecord | undefined {
    const intents = this.intents(row.id);
    if (!hasSucceeded(row) && intents.length === 0) return undefined;
    const held = this.#database.sql('SELECT rows, value FROM holdings WHERE component = ?').get(row.id);
    const [rows, value] = (held ?? [null, null]) as unknown as [Uint8Array | null, string | null];
    return {
      path,
      fingerprint: row.fingerprint,
      contentHash: row.hash,
      token: row.token,
      rows: unpackRows(rows),
      intended: gatherRows(intents.map((intent) => intent.rows)),
      memoised: row.memoised,
      ...(value === null ? {} : { value: JSON.parse(value) }),
    };
  }

  item(row: PlacedRow, source = this.#sourceOf(row)): ItemRecord {
    return itemOf(row, source);
  }

  /** Source of an item's row. */
  #sourceOf(row: PlacedRow): string {
    return segmentKey(this.parents.text(row.parent));
  }

  children(path: string, afterPath: string, limit: number): string[] {
    const parent = this.parents.find(path);
    if (parent === undefined) return [];
    const after = afterPath === '' ? '' : splitPath(afterPath).segment;
    return this.#database
      .sql('SELECT key FROM components WHERE parent = ? AND key > ? ORDER BY key LIMIT ?')
      .all(parent, after, limit)
      .map((cells) => joinPath(path, (cells as unknown as [string])[0]));
  }
}

type Cells = [
  id: number,
  parent: number,
  key: string,
  isItem: number,
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
  memoised: number,
  error: string | null,
];

function cellsOf(row: PlacedRow): SQLInputValue[] {
  const cells: SQLInputValue[] = [];
  putCells(cells, 0, row);
  return cells;
}

/** Writes a row's cells from `at` on, in the order of COLUMNS. */
function putCells(cells: SQLInputValue[], at: number, row: PlacedRow): void {
  cells[at] = row.id;
  cells[at + 1] = row.parent;
  cells[at + 2] = row.key;
  cells[at + 3] = row.isItem ? 1 : 0;
  cells[at + 4] = STATUSES.indexOf(row.status);
  cells[at + 5] = row.version;
  cells[at + 6] = row.fingerprint;
  cells[at + 7] = row.hash;
  cells[at + 8] = row.token.epoch;
  cells[at + 9] = row.token.run;
  cells[at + 10] = row.token.attempt;
  cells[at + 11] = row.committedAtMs;
  cells[at + 12] = row.seenAtMs;
  cells[at + 13] = row.failures;
  cells[at + 14] = row.losses;
  cells[at + 15] = row.memoised ? 1 : 0;
  cells[at + 16] = row.error;
}

function toRow(cells: unknown): PlacedRow {
  const at = cells as Cells;
  return {
    id: at[0],
    parent: at[1],
    key: at[2],
    isItem: at[3] === 1,
    status: STATUSES[at[4]] ?? 'ok',
    version: at[5],
    fingerprint: at[6],
    hash: at[7],
    token: { epoch: at[8], run: at[9], attempt: at[10] },
    committedAtMs: at[11],
    seenAtMs: at[12],
    failures: at[13],
    losses: at[14],
    memoised: at[15] === 1,
    error: at[16],
  };
}
