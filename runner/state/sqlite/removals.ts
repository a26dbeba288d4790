// Tokens of removals: they fence runs that were presumed dead, so that none brings a removed component back.
import type { Sqlite } from '../../database/index.ts';
import type { FencingToken } from '../../protocol/index.ts';
import { REMOVAL_KEPT_MS } from '../records.ts';

const ADD = 'INSERT OR REPLACE INTO removed(path, epoch, run, attempt, removed_at) VALUES (?, ?, ?, ?, ?)';

export class Removals {
  readonly #database: Sqlite;
  #mayHaveRows: boolean;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#mayHaveRows = database.hasRows('removed');
  }

  /** Whether it is known without asking that no path was removed of late. */
  get isEmpty(): boolean {
    return !this.#mayHaveRows;
  }

  of(path: string): FencingToken[] {
    if (this.isEmpty) return [];
    const cells = this.#database.sql('SELECT epoch, run, attempt FROM removed WHERE path = ?').get(path);
    if (cells === undefined) return [];
    const [epoch, run, attempt] = cells as unknown as [number, number, number];
    return [{ epoch, run, attempt }];
  }

  add(path: string, { epoch, run, attempt }: FencingToken, nowMs: number): void {
    this.#mayHaveRows = true;
    this.#database.sql(ADD).run(path, epoch, run, attempt, nowMs);
    this.#database.sql('DELETE FROM removed WHERE removed_at < ?').run(nowMs - REMOVAL_KEPT_MS);
  }

  /** The component is back. */
  forget(path: string): void {
    if (!this.isEmpty) this.#database.sql('DELETE FROM removed WHERE path = ?').run(path);
  }
}
