// Inserts many rows with few statements: many rows in one statement cost little more than half of what a statement for each costs.
import type { SQLInputValue } from 'node:sqlite';
import type { Sqlite } from './sqlite.ts';

/** Rows of one statement, most first. SQLite takes at most 32,766 values. */
const SIZES = [64, 8, 1];

export class BulkInsert {
  readonly #database: Sqlite;
  /** Values of a row. */
  readonly #width: number;
  /** By size. */
  readonly #statements: readonly string[];
  /** By size; used again and again. */
  readonly #values: readonly SQLInputValue[][];

  /** `head`: the statement up to its values; `row`: the values of one row, such as `(?, ?, 0)`. */
  constructor(database: Sqlite, head: string, row: string) {
    this.#database = database;
    this.#width = row.split('?').length - 1;
    this.#values = SIZES.map((size) => Array<SQLInputValue>(size * this.#width).fill(null));
    this.#statements = SIZES.map((size) => `${head} VALUES ${Array(size).fill(row).join(',')}`);
  }

  /**
   * Inserts rows, whose values `put` writes into a statement's values from `at` on. Answers how many were inserted: fewer than there are if one of the next
   * 64 has a key that is taken, and then nothing of those that follow is written.
   */
  insert<Row>(rows: readonly Row[], put: (values: SQLInputValue[], at: number, row: Row) => void): number {
    let done = 0;
    while (done < rows.length) {
      const index = SIZES.findIndex((size) => size <= rows.length - done);
      const size = SIZES[index] as number;
      const values = this.#values[index] as SQLInputValue[];
      for (let row = 0; row < size; row += 1) put(values, row * this.#width, rows[done + row] as Row);
      if (!this.#insertAll(this.#statements[index] as string, values)) break;
      done += size;
    }
    return done;
  }

  #insertAll(statement: string, values: readonly SQLInputValue[]): boolean {
    try {
      this.#database.sql(statement).run(...values);
      return true;
    } catch (error) {
      if (isTaken(error)) return false;
      throw error;
    }
  }
}

const SQLITE_CONSTRAINT_UNIQUE = 2067;
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555;

function isTaken(error: unknown): boolean {
  const { errcode } = error as { readonly errcode?: number };
  return errcode === SQLITE_CONSTRAINT_UNIQUE || errcode === SQLITE_CONSTRAINT_PRIMARYKEY;
}
