// Results of functions by key.
//   M1. An entry is in use by one component, or retired; retired ones go by age.
//   M2. A value is stored once: an entry whose value a row holds is dropped with the commit that writes the row.
import type { Sqlite } from '../../database/index.ts';
import type { MemoChange, MemoEntry } from '../../execute/index.ts';
import { AGE_STEP_MS } from '../memo-age.ts';

const USE = 'UPDATE memo SET component = ?, retired_at = NULL WHERE key = ?';
const PUT = `INSERT INTO memo(key, component, retired_at, value) VALUES (?, ?, NULL, ?)
  ON CONFLICT(key) DO UPDATE SET component = excluded.component, retired_at = NULL`;
const RETIRE_NEW = `INSERT INTO memo(key, component, retired_at, value) VALUES (?, NULL, ?, ?)
  ON CONFLICT(key) DO UPDATE SET retired_at = excluded.retired_at WHERE retired_at < excluded.retired_at - ${AGE_STEP_MS}`;
const RETIRE_ALL = 'UPDATE memo SET component = NULL, retired_at = ? WHERE component = ?';
const DROP = 'DELETE FROM memo WHERE key = ? AND (component IS NULL OR component = ?)';

export class MemoTable {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  get(keys: readonly string[]): (Uint8Array | undefined)[] {
    const one = this.#database.sql('SELECT value FROM memo WHERE key = ?');
    return keys.map((key) => (one.get(key) as unknown as [Uint8Array] | undefined)?.[0]);
  }

  putRetired(entries: readonly MemoEntry[], nowMs: number): void {
    const retire = this.#database.sql(RETIRE_NEW);
    for (const { key, value } of entries) retire.run(key, nowMs, value);
  }

  /** Applies what a component's commit says; answers whether entries belong to it now. Entries that are named nowhere retire. */
  change(component: number, change: MemoChange, wasMemoised: boolean, nowMs: number): boolean {
    if (wasMemoised) this.retireAll(component, nowMs);
    const put = this.#database.sql(PUT);
    for (const { key, value } of change.put) put.run(key, component, value);
    const use = this.#database.sql(USE);
    for (const key of change.uses) use.run(component, key);
    const drop = this.#database.sql(DROP);
    for (const key of change.drop) drop.run(key, component);
    this.putRetired(change.retire, nowMs);
    return change.put.length > 0 || change.uses.length > 0;
  }

  retireAll(component: number, nowMs: number): void {
    this.#database.sql(RETIRE_ALL).run(nowMs, component);
  }

  collect(beforeMs: number): number {
    const { changes } = this.#database.sql('DELETE FROM memo WHERE component IS NULL AND retired_at < ?').run(beforeMs);
    return Number(changes);
  }
}
