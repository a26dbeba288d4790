// Pages of all rows by id. There is no index by id (it would slow down every write for the sake of `verify`), so the first page sorts
// all ids once into a table of this connection, and the others read on in it: what a scan sees is how the rows were at its start.
import type { Sqlite } from '../../database/index.ts';

export interface ScannedRow {
  readonly id: string;
  readonly owner: string;
}

export function scanRows(database: Sqlite, table: string, afterId: string, limit: number): ScannedRow[] {
  const snapshot = `temp.${table}_scan`;
  if (afterId === '' || !hasSnapshot(database, table)) takeSnapshot(database, table, snapshot);
  const page = database
    .sql(
      `SELECT s.id, o.path FROM ${snapshot} s JOIN ${table}_owners o ON o.id = s.owner WHERE s.id > ? ORDER BY s.id LIMIT ?`,
    )
    .all(Buffer.from(afterId, 'hex'), limit)
    .map(toRow);
  if (page.length < limit) database.exec(`DROP TABLE ${snapshot}`);
  return page;
}

function hasSnapshot(database: Sqlite, table: string): boolean {
  return database.sql('SELECT 1 FROM temp.sqlite_schema WHERE name = ?').get(`${table}_scan`) !== undefined;
}

function takeSnapshot(database: Sqlite, table: string, snapshot: string): void {
  database.exec(`
    DROP TABLE IF EXISTS ${snapshot};
    CREATE TABLE ${snapshot}(id BLOB NOT NULL, owner INTEGER NOT NULL, PRIMARY KEY (id, owner)) WITHOUT ROWID;
    INSERT INTO ${snapshot} SELECT id, owner FROM ${table}_rows ORDER BY id;
  `);
}

function toRow(cells: unknown): ScannedRow {
  const [id, owner] = cells as [Uint8Array, string];
  return { id: Buffer.from(id).toString('hex'), owner };
}
