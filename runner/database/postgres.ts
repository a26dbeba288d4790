// A pool of connections to Postgres as the state and the targets use it.
//   P1. A transaction runs whole or not at all; one that lost against another (deadlock, serialisation) is tried again.
//   P2. Rows come as arrays, in the order of the columns; statements are prepared once for each connection.
//   P3. A server that cannot be reached is a `transient` failure that names host and database, never the URL with its password.
import { createHash } from 'node:crypto';
import pg from 'pg';
import { StepError } from '../sdk/index.ts';
import { TYPE_IDS } from './binary.ts';

export interface PostgresOptions {
  readonly url: string;
  /** Connections at once. */
  readonly connectionsMax?: number;
}

const CONNECTIONS_MAX = 8;
const CONNECT_MS = 10_000;
const ATTEMPTS = 5;

/** What statements run on: the pool, or the connection of a transaction. */
export interface Queryable {
  /** `T`: the row as a tuple. Buffers go in binary form, see `binaryArray`. */
  rows<T extends readonly unknown[]>(sql: string, values?: readonly unknown[]): Promise<T[]>;
  /** Runs a statement; answers how many rows it changed. */
  run(sql: string, values?: readonly unknown[]): Promise<number>;
}

export class Postgres implements Queryable {
  /** Host and database, for messages. */
  readonly place: string;
  readonly #pool: pg.Pool;
  readonly #statements = new Statements();
  readonly #typeIds = new Map<string, number>();

  constructor(options: PostgresOptions) {
    this.place = placeOf(options.url);
    this.#pool = new pg.Pool({
      connectionString: options.url,
      max: options.connectionsMax ?? CONNECTIONS_MAX,
      connectionTimeoutMillis: CONNECT_MS,
      application_name: 'fairlead',
      allowExitOnIdle: true,
      types,
    });
    // A connection that breaks while it is idle is replaced at its next use; the pool has dropped it already.
    this.#pool.on('error', () => undefined);
    // The pool takes its listener off before it hands a new connection over. Should the server's last words come in the same packet as its
    // first, nobody would listen, and that would end the process; the next query fails all the same.
    this.#pool.on('connect', (client) => void client.on('error', () => undefined));
  }

  async rows<T extends readonly unknown[]>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    return this.#explained(
      async () => (await this.#pool.query(this.#statements.query(sql, values))).rows as unknown as T[],
    );
  }

  async run(sql: string, values: readonly unknown[] = []): Promise<number> {
    return this.#explained(async () => (await this.#pool.query(this.#statements.query(sql, values))).rowCount ?? 0);
  }

  /** Statements without parameters, several at once, such as a schema. */
  async exec(sql: string): Promise<void> {
    await this.#explained(() => this.#pool.query(sql));
  }

  /** P1. `body` may run several times. */
  async transact<T>(body: (connection: Queryable) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#explained(() => this.#transactOnce(body));
      } catch (error) {
        if (!mayTryAgain(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** Several reads on one state of the database, however much others commit meanwhile. */
  async snapshot<T>(body: (connection: Queryable) => Promise<T>): Promise<T> {
    return this.#explained(() => this.#transactOnce(body, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'));
  }

  async #transactOnce<T>(body: (connection: Queryable) => Promise<T>, begin = 'BEGIN'): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    // A connection that is lost between two statements says so by an event; without a listener that would end the process.
    const lost = (error: Error) => {
      broken = error;
    };
    client.on('error', lost);
    try {
      await client.query(begin);
      const result = await body(new Connection(client, this.#statements));
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((reason: Error) => {
        broken = reason;
      });
      throw error;
    } finally {
      client.removeListener('error', lost);
      client.release(broken);
    }
  }

  /** Number of a type in this database, for binary values. */
  async typeId(name: string): Promise<number> {
    const known = this.#typeIds.get(name);
    if (known !== undefined) return known;
    const [row] = await this.rows<[number | null]>('SELECT to_regtype($1)::oid::int8::int', [name]);
    if (row?.[0] === null || row === undefined) throw new Error(`${this.place} has no type ${name}`);
    this.#typeIds.set(name, row[0]);
    return row[0];
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #explained<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      throw new StepError('transient', `Postgres at ${this.place} cannot be reached: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
}

class Connection implements Queryable {
  readonly #client: pg.PoolClient;
  readonly #statements: Statements;

  constructor(client: pg.PoolClient, statements: Statements) {
    this.#client = client;
    this.#statements = statements;
  }

  async rows<T extends readonly unknown[]>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    return (await this.#client.query(this.#statements.query(sql, values))).rows as unknown as T[];
  }

  async run(sql: string, values: readonly unknown[] = []): Promise<number> {
    return (await this.#client.query(this.#statements.query(sql, values))).rowCount ?? 0;
  }
}

/** Raised inside a transaction that found somebody else's row in its way: it is tried again from the start. */
export class TryAgain extends Error {}

function mayTryAgain(error: unknown): boolean {
  const { code } = error as { code?: string };
  return error instanceof TryAgain || code === '40001' || code === '40P01';
}

const UNREACHABLE = /^(08|57P)|^(ECONN|EPIPE|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOENT|EAI_AGAIN)/;

function isUnreachable(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  if (code !== undefined) return UNREACHABLE.test(code);
  return /Connection terminated|connection error|timeout exceeded when trying to connect/.test(message ?? '');
}

function placeOf(url: string): string {
  try {
    const { hostname, port, pathname, searchParams } = new URL(url);
    const host = searchParams.get('host') ?? hostname;
    return `${host}${port === '' ? '' : `:${port}`}${pathname}`;
  } catch {
    throw new Error(
      'the address of the Postgres database is no URL: write postgres://user:password@host:5432/database',
    );
  }
}

/** Short names that stand for the texts of statements, so that each connection parses and plans them once. */
class Statements {
  readonly #names = new Map<string, string>();

  query(text: string, values: readonly unknown[]): pg.QueryArrayConfig {
    let name = this.#names.get(text);
    if (name === undefined) {
      name = createHash('md5').update(text).digest('hex');
      this.#names.set(text, name);
    }
    return { name, text, values: values as unknown[], rowMode: 'array' };
  }
}

/** Counts and ids are `bigint` in Postgres and small here. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((id: number, format?: 'text') =>
    id === TYPE_IDS.int8 ? Number : pg.types.getTypeParser(id, format)) as pg.CustomTypesConfig['getTypeParser'],
};

/** A target whose tables live in the state's database: the state applies its changes in its own transactions. */
export interface PostgresLodger<Change> {
  readonly name: string;
  /** Called by the state once it is connected, before `prepare`. */
  lodge(database: Postgres): void;
  applyIn(connection: Queryable, changes: readonly Change[]): Promise<void>;
}
