// The Postgres with pgvector of a place, that of the example; its address is in the Secret index-db.
import { Client } from 'pg';
import { eventually } from '../../test/support/eventually.ts';
import type { Place } from './place.ts';
import { type Forwarded, forward } from './programs.ts';
import { WITHIN_MS } from './watch.ts';

const UNDEFINED_TABLE = '42P01';

export class Database {
  readonly #client: Client;
  readonly #forwarded: Forwarded;

  static async serve(place: Place): Promise<Database> {
    await place.serve('../examples/cluster/postgres.yaml', 'postgres');
    return Database.reach(place.namespace);
  }

  /** One that is served already. */
  static async reach(namespace: string): Promise<Database> {
    const forwarded = await forward(namespace, 'postgres', 5432);
    const client = new Client({
      connectionString: `postgres://postgres:fairlead@127.0.0.1:${forwarded.port}/postgres`,
    });
    client.on('error', () => {}); // its pod goes with the place
    await client.connect();
    return new Database(client, forwarded);
  }

  private constructor(client: Client, forwarded: Forwarded) {
    this.#client = client;
    this.#forwarded = forwarded;
  }

  /** The first column of the answer, as text; nothing where the table is not there yet. */
  async ask(query: string, values: readonly unknown[] = []): Promise<string[]> {
    try {
      const { rows } = await this.#client.query<unknown[]>({ text: query, values: [...values], rowMode: 'array' });
      return rows.map(([first]) => String(first));
    } catch (error) {
      if ((error as { code?: string }).code === UNDEFINED_TABLE) return [];
      throw error;
    }
  }

  /** How many rows of a table hold a word. */
  async rowsWith(word: string, table = 'chunks'): Promise<number> {
    const [count] = await this.ask(`select count(*) from ${table} where text like '%' || $1 || '%'`, [word]);
    return Number(count ?? 0);
  }

  /** Waits until exactly so many rows hold a word. A database tells nobody that a row came, so it is asked, on one connection. */
  async searchable(word: string, rows: number, table?: string): Promise<void> {
    const look = () => this.rowsWith(word, table);
    await eventually(look, (count) => count === rows, `${rows} rows hold ${word}`, WITHIN_MS);
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => {});
    this.#forwarded.stop();
  }
}
