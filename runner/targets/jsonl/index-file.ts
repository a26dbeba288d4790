// The rows of a JSON Lines target as they are now, in a SQLite file beside it: what makes changes atomic and keeps memory flat, whatever the
// number of rows. The file that people read is written from it.
import { randomBytes } from 'node:crypto';
import { Sqlite } from '../../database/index.ts';
import type { RowChange, TargetRow } from '../../execute/index.ts';
import type { RowsOf } from '../ownership.ts';
import { lineOf, rowIn } from './line.ts';

const TABLES = `
CREATE TABLE about(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rows(
  id TEXT PRIMARY KEY, owner TEXT NOT NULL, source TEXT NOT NULL, key TEXT NOT NULL, start INTEGER NOT NULL,
  adopted INTEGER NOT NULL DEFAULT 0, line TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX rows_owner ON rows(owner);
`;

const FOUND = 'CREATE TABLE temp.found(id TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID';

const WRITE = `INSERT INTO rows(id, owner, source, key, start, line) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT(id) DO UPDATE SET (owner, source, key, start, line, adopted)
  = (excluded.owner, excluded.source, excluded.key, excluded.start, excluded.line, 0)`;

export class IndexFile {
  readonly #database: Sqlite;

  constructor(file: string, readOnly: boolean) {
    this.#database = new Sqlite({ file, readOnly });
  }

  /** Makes the tables if there are none; answers whether it did. */
  make(): boolean {
    if (this.#database.hasTable('rows')) return false;
    this.#database.transact(() => {
      this.#database.exec(TABLES);
      this.set('generation', randomBytes(6).toString('hex'));
    });
    return true;
  }

  get(key: string): string {
    const cells = this.#database.sql('SELECT value FROM about WHERE key = ?').get(key);
    return cells === undefined ? '' : (cells as unknown as [string])[0];
  }

  set(key: string, value: string): void {
    this.#database.sql('INSERT OR REPLACE INTO about(key, value) VALUES (?, ?)').run(key, value);
  }

  owner(): RowsOf {
    return { pipeline: this.get('pipeline'), stateId: this.get('stateId') };
  }

  /** Whether the file that people read lags behind what is here. */
  get isAhead(): boolean {
    return this.get('ahead') !== '';
  }

  /** The file that people read has what is here. */
  caughtUp(): void {
    this.set('ahead', '');
  }

  apply(changes: readonly RowChange[]): void {
    this.#database.transact(() => {
      this.set('ahead', 'yes');
      for (const change of changes) this.#applyOne(change);
    });
  }

  #applyOne(change: RowChange): void {
    const { owner, deletes, upserts, touches, deleteAll } = change;
    if (deleteAll) this.#database.sql('DELETE FROM rows WHERE owner = ?').run(owner);
    else this.#database.sql('DELETE FROM rows WHERE owner = ? AND adopted = 1').run(owner);
    for (const id of deletes) this.#database.sql('DELETE FROM rows WHERE id = ? AND owner = ?').run(id, owner);
    for (const row of upserts) this.#write(row);
    for (const row of touches) this.#touch(row);
  }

  #write(row: TargetRow, vector = row.element.vector === undefined ? undefined : [...row.element.vector]): void {
    const { id, owner, source, key, element } = row;
    this.#database.sql(WRITE).run(id, owner, source, key, element.place?.startByte ?? 0, lineOf(row, vector));
  }

  /** A touch may come without its vector: it stays. */
  #touch(row: TargetRow): void {
    const cells = this.#database.sql('SELECT line FROM rows WHERE id = ?').get(row.id);
    if (cells === undefined || row.element.vector !== undefined) this.#write(row);
    else this.#write(row, (JSON.parse((cells as unknown as [string])[0]) as { vector?: number[] }).vector);
  }

  /** Lines in an order that only depends on the rows. */
  lines(): Iterable<string> {
    const rows = this.#database.sql('SELECT line FROM rows ORDER BY source, key, start, id').iterate();
    return Iterator.from(rows).map((cells) => (cells as unknown as [string])[0]);
  }

  /** Looks at the file that people read, for `scan`: a line that was changed is not there; one that nobody here knows is. */
  look(lines: Iterable<string>): void {
    this.#database.exec(`DROP TABLE IF EXISTS temp.found; ${FOUND}`);
    const add = this.#database.sql('INSERT OR IGNORE INTO temp.found(id, owner) VALUES (?, ?)');
    const known = this.#database.sql('SELECT line FROM rows WHERE id = ?');
    for (const line of lines) {
      const row = rowIn(line);
      const cells = row && known.get(row.id);
      const isChanged = cells !== undefined && (cells as unknown as [string])[0] !== line;
      if (row !== undefined && !isChanged) add.run(row.id, row.owner);
    }
  }

  /** Rows that `look` has seen. */
  scan(afterId: string, limit: number): { readonly id: string; readonly owner: string }[] {
    return this.#database
      .sql('SELECT id, owner FROM temp.found WHERE id > ? ORDER BY id LIMIT ?')
      .all(afterId, limit)
      .map((cells) => {
        const [id, owner] = cells as unknown as [string, string];
        return { id, owner };
      });
  }

  adoptAll(): void {
    this.#database.sql('UPDATE rows SET adopted = 1').run();
  }

  hasAdopted(): boolean {
    return this.#database.sql('SELECT 1 FROM rows WHERE adopted = 1 LIMIT 1').get() !== undefined;
  }

  sweep(): number {
    const cells = this.#database.sql('SELECT count(DISTINCT owner) FROM rows WHERE adopted = 1').get();
    this.set('ahead', 'yes');
    this.#database.sql('DELETE FROM rows WHERE adopted = 1').run();
    return (cells as unknown as [number])[0];
  }

  close(): void {
    this.#database.close();
  }
}
