// Row ids of components: small, growing, never given twice (T2). They are reserved in blocks, so that giving one writes nothing;
// a process that dies loses what is left of its block.
import type { Sqlite } from '../../database/index.ts';
import { getMeta, setMeta } from './schema.ts';

const BLOCK = 1024;

export class Ids {
  readonly #database: Sqlite;
  #last: number;
  #reserved: number;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#reserved = Number(getMeta(database, 'idsReserved') ?? 0);
    this.#last = this.#reserved;
  }

  get last(): number {
    return this.#last;
  }

  next(): number {
    this.#last++;
    if (this.#last > this.#reserved) {
      this.#reserved = this.#last + BLOCK - 1;
      setMeta(this.#database, 'idsReserved', this.#reserved);
    }
    return this.#last;
  }

  /** After a transaction that was undone: its reservation is gone, the ids that it gave are not given again. */
  reload(): void {
    this.#reserved = Number(getMeta(this.#database, 'idsReserved') ?? 0);
  }
}
