// Connections to the database of a source, and its errors in words for people. The address is a secret: it is in no message.
import pg from 'pg';
import { StepError } from '../../sdk/index.ts';
import { codeOf, messageOf } from '../common/failure.ts';
import { orAborted } from '../common/waiting.ts';

const CONNECTIONS_MAX = 4;
const CONNECT_MAX_MS = 10_000;
const ANSWER_MAX_MS = 60_000;
/** Texts of times, numbers and bytes are versions and keys, so their form must not depend on the server's settings. */
const SETTINGS = `SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET bytea_output = 'hex'; SET extra_float_digits = 1; SET intervalstyle = 'postgres'`;

export type Row = Readonly<Record<string, unknown>>;

export class Database {
  readonly #url: () => Promise<string>;
  #pool: pg.Pool | undefined;

  /** `url` is asked anew for each pool, so that a rotated password is picked up. */
  constructor(url: () => Promise<string>) {
    this.#url = url;
  }

  async query(text: string, values: readonly unknown[], signal: AbortSignal): Promise<Row[]> {
    signal.throwIfAborted();
    try {
      const pool = await this.#open();
      const { rows } = await orAborted(pool.query<Row>(text, [...values]), signal);
      return rows;
    } catch (error) {
      throw this.#explained(error, signal);
    }
  }

  /** Rows of a query at one moment, in pages. Leaving early ends the query. */
  async *pages(text: string, values: readonly unknown[], size: number, signal: AbortSignal): AsyncGenerator<Row[]> {
    signal.throwIfAborted();
    let client: pg.PoolClient | undefined;
    let isWhole = false;
    try {
      client = await orAborted((await this.#open()).connect(), signal);
      await orAborted(client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY'), signal);
      await orAborted(
        client.query({ text: `DECLARE fairlead NO SCROLL CURSOR FOR ${text}`, values: [...values] }),
        signal,
      );
      for (;;) {
        const { rows } = await orAborted(client.query<Row>(`FETCH ${size} FROM fairlead`), signal);
        if (rows.length === 0) break;
        yield rows;
        signal.throwIfAborted();
      }
      await orAborted(client.query('COMMIT'), signal);
      isWhole = true;
    } catch (error) {
      throw this.#explained(error, signal);
    } finally {
      client?.release(!isWhole);
    }
  }

  /** A connection of its own, for LISTEN. */
  async connect(signal: AbortSignal): Promise<pg.Client> {
    const client = new pg.Client(await this.#config());
    client.on('error', () => {});
    try {
      await orAborted(client.connect(), signal);
      return client;
    } catch (error) {
      client.end().catch(() => {});
      throw this.#explained(error, signal);
    }
  }

  async close(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.end();
  }

  async #open(): Promise<pg.Pool> {
    if (this.#pool !== undefined) return this.#pool;
    const pool = new pg.Pool({
      ...(await this.#config()),
      max: CONNECTIONS_MAX,
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
    });
    pool.on('connect', (client) => {
      // While it is in use the pool does not listen to it: a connection that breaks then fails its query, not the process.
      client.on('error', () => {});
      client.query(SETTINGS).catch(() => {});
    });
    // A connection that breaks while it is idle is replaced at the next query.
    pool.on('error', () => {});
    this.#pool ??= pool;
    return this.#pool;
  }

  async #config(): Promise<pg.ClientConfig> {
    const connectionString = (await this.#url()).trim();
    return {
      connectionString,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MAX_MS,
      query_timeout: ANSWER_MAX_MS,
      application_name: 'fairlead',
    };
  }

  #explained(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    if (error instanceof StepError) return error;
    const code = codeOf(error) ?? '';
    // Wrong password, or no such role or database: perhaps the secret was rotated.
    if (/^(28|3D)/.test(code)) this.close().catch(() => {});
    return new StepError(/^(42|22)/.test(code) ? 'invalid' : 'transient', `postgres: ${messageOf(error) || code}`, {
      cause: error,
    });
  }
}

/** SQLSTATE behind an error of this room. */
export const sqlStateOf = (error: unknown): string | undefined =>
  error instanceof StepError ? codeOf(error.cause) : codeOf(error);
