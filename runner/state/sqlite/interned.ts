// Texts that many rows share, kept once and named by a small number.
import type { Sqlite } from '../../database/index.ts';

/** Enough for the sources and the parents that runs work on at a time; beyond that the table answers. */
const CACHED_MAX = 10_000;

export class Interned {
  readonly #database: Sqlite;
  readonly #table: string;
  readonly #column: string;
  readonly #ids = new Map<string, number>();
  readonly #texts = new Map<number, string>();

  constructor(database: Sqlite, table: string, column: string) {
    this.#database = database;
    this.#table = table;
    this.#column = column;
  }

  find(text: string): number | undefined {
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    const row = this.#database.sql(`SELECT id FROM ${this.#table} WHERE ${this.#column} = ?`).get(text);
    if (row === undefined) return undefined;
    return this.#remember(text, (row as unknown as [number])[0]);
  }

  ensure(text: string): number {
    const known = this.find(text);
    if (known !== undefined) return known;
    const { lastInsertRowid } = this.#database.sql(`INSERT INTO ${this.#table}(${this.#column}) VALUES (?)`).run(text);
    return this.#remember(text, Number(lastInsertRowid));
  }

  text(id: number): string {
    const known = this.#texts.get(id);
    if (known !== undefined) return known;
    const row = this.#database.sql(`SELECT ${this.#column} FROM ${this.#table} WHERE id = ?`).get(id);
    if (row === undefined) return '';
    const [text] = row as unknown as [string];
    this.#remember(text, id);
    return text;
  }

  remove(text: string): void {
    this.#database.sql(`DELETE FROM ${this.#table} WHERE ${this.#column} = ?`).run(text);
    this.forget();
  }

  /** After a transaction that was undone, what it had added must not be believed any more. */
  forget(): void {
    this.#ids.clear();
    this.#texts.clear();
  }

  #remember(text: string, id: number): number {
    if (this.#ids.size >= CACHED_MAX) this.forget();
    this.#ids.set(text, id);
    this.#texts.set(id, text);
    return id;
  }
}
