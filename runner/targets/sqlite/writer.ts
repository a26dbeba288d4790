// Writes a group of components' changes, inside a transaction that is open.
//   R1. A row belongs to one owner; its id is unique within it, and by the way that ids are derived unique in all.
//   R2. Deletes come before upserts; the same change twice leaves the same rows.
//   R3. Rows of an owner that was adopted from a lost state go with the first change that its component writes.
import type { Sqlite } from '../../database/index.ts';
import type { RowChange, TargetRow } from '../../execute/index.ts';
import { bytesOf } from '../vectors.ts';
import { indexedText } from '../words.ts';
import type { TargetSettings } from './schema.ts';

interface Owner {
  readonly id: number;
  readonly isAdopted: boolean;
}

const idBytes = (id: string): Uint8Array => Buffer.from(id, 'hex');

export class RowWriter {
  readonly #database: Sqlite;
  readonly #settings: TargetSettings;
  readonly #sql: Statements;

  constructor(database: Sqlite, settings: TargetSettings) {
    this.#database = database;
    this.#settings = settings;
    this.#sql = statementsOf(settings.table);
  }

  apply(changes: readonly RowChange[]): void {
    for (const change of changes) this.#applyOne(change);
  }

  #applyOne(change: RowChange): void {
    let owner = this.#findOwner(change.owner);
    if (owner !== undefined && (change.deleteAll || owner.isAdopted)) this.#clear(owner.id);
    if (owner !== undefined) for (const id of change.deletes) this.#delete(owner.id, id);
    const first = change.upserts[0] ?? change.touches[0];
    if (first !== undefined) {
      owner ??= this.#addOwner(first);
      for (const row of change.upserts) this.#upsert(row, owner.id);
      for (const row of change.touches) this.#touch(row, owner.id);
    }
    if (owner !== undefined) this.#settleOwner(owner, change);
  }

  #findOwner(path: string): Owner | undefined {
    const cells = this.#database.sql(this.#sql.findOwner).get(path);
    if (cells === undefined) return undefined;
    const [id, adopted] = cells as unknown as [number, number];
    return { id, isAdopted: adopted === 1 };
  }

  #addOwner(row: TargetRow): Owner {
    const { lastInsertRowid } = this.#database.sql(this.#sql.addOwner).run(row.owner, row.source, row.key);
    return { id: Number(lastInsertRowid), isAdopted: false };
  }

  #settleOwner(owner: Owner, change: RowChange): void {
    const mayBeBare = change.upserts.length === 0 && (change.deleteAll || owner.isAdopted || change.deletes.length > 0);
    if (mayBeBare && this.#database.sql(this.#sql.anyRowOf).get(owner.id) === undefined)
      this.#database.sql(this.#sql.dropOwner).run(owner.id);
    else if (owner.isAdopted) this.#database.sql(this.#sql.keepOwner).run(owner.id);
  }

  #clear(owner: number): void {
    for (const cells of this.#database.sql(this.#sql.rowsOf).all(owner))
      this.#deleteRow((cells as unknown as [number])[0]);
  }

  #delete(owner: number, id: string): void {
    const there = this.#find(owner, id);
    if (there !== undefined) this.#deleteRow(there.n);
  }

  #find(owner: number, id: string): { readonly n: number; readonly text: string | null } | undefined {
    const cells = this.#database.sql(this.#sql.findRow).get(owner, idBytes(id));
    if (cells === undefined) return undefined;
    const [n, text] = cells as unknown as [number, string | null];
    return { n, text };
  }

  #deleteRow(n: number): void {
    this.#database.sql(this.#sql.deleteRow).run(n);
    if (this.#settings.vector !== undefined) this.#database.sql(this.#sql.deleteVector).run(n);
    if (this.#settings.fullText) this.#database.sql(this.#sql.deleteWords).run(n);
  }

  #upsert(row: TargetRow, owner: number): void {
    const inserted = this.#database.sql(this.#sql.insertRow).run(idBytes(row.id), owner, ...columnsOf(row));
    if (Number(inserted.changes) === 0) {
      this.#overwrite(row, owner);
      return;
    }
    const n = Number(inserted.lastInsertRowid);
    this.#writeVector(this.#sql.addVector, n, row);
    this.#writeWords(n, row);
  }

  #overwrite(row: TargetRow, owner: number): void {
    const there = this.#find(owner, row.id);
    if (there === undefined) return;
    this.#database.sql(this.#sql.updateRow).run(...columnsOf(row), there.n);
    this.#writeVector(this.#sql.putVector, there.n, row);
    if (there.text === (row.element.text ?? null) || !this.#settings.fullText) return;
    this.#database.sql(this.#sql.deleteWords).run(there.n);
    this.#writeWords(there.n, row);
  }

  /** A row that should be there and is not (somebody deleted it) comes back if its vector is at hand; `verify` finds the others. */
  #touch(row: TargetRow, owner: number): void {
    const there = this.#find(owner, row.id);
    if (there !== undefined) {
      this.#database.sql(this.#sql.updateRow).run(...columnsOf(row), there.n);
      if (row.element.vector !== undefined) this.#writeVector(this.#sql.putVector, there.n, row);
    } else if (this.#settings.vector === undefined || row.element.vector !== undefined) this.#upsert(row, owner);
  }

  #writeVector(statement: string, n: number, { element }: TargetRow): void {
    const { vector: column } = this.#settings;
    if (column === undefined || element.vector === undefined) return;
    const key = element.vectorKey === undefined ? null : idBytes(element.vectorKey);
    const norm = column.metric === 'dot' ? squaredNorm(element.vector) : null;
    this.#database.sql(statement).run(n, key, norm, bytesOf(element.vector));
  }

  #writeWords(n: number, row: TargetRow): void {
    if (this.#settings.fullText)
      this.#database.sql(this.#sql.addWords).run(n, indexedText(row.key, row.element.text ?? ''));
  }

  /** Indexes the words of all rows, for a target whose full text search was turned on later. */
  indexAll(): void {
    const page = this.#database.sql(this.#sql.textPage);
    for (let after = 0; ; ) {
      const rows = page.all(after) as unknown as [number, string, string | null][];
      const last = rows.at(-1);
      if (last === undefined) return;
      for (const [n, key, text] of rows) this.#database.sql(this.#sql.addWords).run(n, indexedText(key, text ?? ''));
      after = last[0];
    }
  }

  /** Marks everything as rows of a state that was lost. */
  adoptAll(): void {
    this.#database.sql(this.#sql.adoptAll).run();
  }

  hasAdopted(): boolean {
    return this.#database.sql(`${this.#sql.adopted} LIMIT 1`).get() !== undefined;
  }

  /** Removes what is still only adopted; answers how many owners that were. */
  sweep(): number {
    const owners = this.#database.sql(this.#sql.adopted).all() as unknown as [number][];
    for (const [owner] of owners) {
      this.#clear(owner);
      this.#database.sql(this.#sql.dropOwner).run(owner);
    }
    return owners.length;
  }
}

type Columns = [
  string | null,
  number | null,
  number | null,
  number | null,
  number | null,
  string | null,
  string | null,
];

function columnsOf({ element }: TargetRow): Columns {
  const { place } = element;
  return [
    element.text ?? null,
    place?.startByte ?? null,
    place?.endByte ?? null,
    place?.startLine ?? null,
    place?.endLine ?? null,
    element.language ?? null,
    element.fields === undefined ? null : JSON.stringify(element.fields),
  ];
}

function squaredNorm(vector: Float32Array): number {
  let sum = 0;
  for (const x of vector) sum += x * x;
  return sum;
}

type Statements = ReturnType<typeof statementsOf>;

const COLUMNS = 'text, start_byte, end_byte, start_line, end_line, language, fields';

function statementsOf(table: string) {
  return {
    findOwner: `SELECT id, adopted FROM ${table}_owners WHERE path = ?`,
    addOwner: `INSERT INTO ${table}_owners(path, source, key) VALUES (?, ?, ?)`,
    dropOwner: `DELETE FROM ${table}_owners WHERE id = ?`,
    keepOwner: `UPDATE ${table}_owners SET adopted = 0 WHERE id = ?`,
    adoptAll: `UPDATE ${table}_owners SET adopted = 1`,
    adopted: `SELECT id FROM ${table}_owners WHERE adopted = 1`,
    rowsOf: `SELECT n FROM ${table}_rows WHERE owner = ?`,
    anyRowOf: `SELECT 1 FROM ${table}_rows WHERE owner = ? LIMIT 1`,
    findRow: `SELECT n, text FROM ${table}_rows WHERE owner = ? AND id = ?`,
    insertRow: `INSERT INTO ${table}_rows(id, owner, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(owner, id) DO NOTHING`,
    updateRow: `UPDATE ${table}_rows SET (${COLUMNS}) = (?, ?, ?, ?, ?, ?, ?) WHERE n = ?`,
    deleteRow: `DELETE FROM ${table}_rows WHERE n = ?`,
    addVector: `INSERT INTO ${table}_vectors(n, key, norm, vector) VALUES (?, ?, ?, ?)`,
    // Makes SQLite set a savepoint, at which FTS5 writes out all words that it holds: five times as slow as adding.
    putVector: `INSERT OR REPLACE INTO ${table}_vectors(n, key, norm, vector) VALUES (?, ?, ?, ?)`,
    deleteVector: `DELETE FROM ${table}_vectors WHERE n = ?`,
    addWords: `INSERT INTO ${table}_words(rowid, text) VALUES (?, ?)`,
    deleteWords: `DELETE FROM ${table}_words WHERE rowid = ?`,
    textPage: `SELECT r.n, o.key, r.text FROM ${table}_rows r JOIN ${table}_owners o ON o.id = r.owner WHERE r.n > ? ORDER BY r.n LIMIT 1000`,
  };
}
