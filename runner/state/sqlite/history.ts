// Updates that were, and resume points of live components.
import type { Sqlite } from '../../database/index.ts';
import type { UpdateRecord } from '../../execute/index.ts';
import type { Json } from '../../protocol/index.ts';
import { UPDATES_MAX } from '../records.ts';

export class History {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  save(update: UpdateRecord): void {
    const { lastInsertRowid } = this.#database
      .sql('INSERT INTO updates(name, record) VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET record = excluded.record')
      .run(update.name, JSON.stringify(update));
    this.#database.sql('DELETE FROM updates WHERE id <= ?').run(Number(lastInsertRowid) - UPDATES_MAX);
  }

  newest(limit: number): UpdateRecord[] {
    return this.#database
      .sql('SELECT record FROM updates ORDER BY id DESC LIMIT ?')
      .all(limit)
      .map((cells) => JSON.parse((cells as unknown as [string])[0]) as UpdateRecord);
  }

  cursor(path: string): Json | undefined {
    const cells = this.#database.sql('SELECT value FROM cursors WHERE path = ?').get(path);
    return cells === undefined ? undefined : (JSON.parse((cells as unknown as [string])[0]) as Json);
  }

  /** At and below a path: `/` is followed by `0`, so a subtree is a range. */
  cursors(path: string, afterPath: string, limit: number): { path: string; value: Json }[] {
    const sql =
      'SELECT path, value FROM cursors WHERE (path = ? OR (path > ? AND path < ?)) AND path > ? ORDER BY path LIMIT ?';
    const rows = this.#database.sql(sql).all(path, `${path}/`, `${path}0`, afterPath, limit);
    return rows.map((cells) => {
      const [found, value] = cells as unknown as [string, string];
      return { path: found, value: JSON.parse(value) as Json };
    });
  }

  setCursor(path: string, value: Json): void {
    this.#database.sql('INSERT OR REPLACE INTO cursors(path, value) VALUES (?, ?)').run(path, JSON.stringify(value));
  }

  clearCursor(path: string): void {
    this.#database.sql('DELETE FROM cursors WHERE path = ?').run(path);
  }
}
