// Who works on a shared state that no operator leads: one process at a time, by a lease that it renews. Fencing by epochs keeps rows right without
// it; the lease keeps two people from taking the state from each other without a word.
//   N1. As long as a lease runs no other process is let in. One that ends gives it back, and one of this machine that is gone has none.
//   N2. A process that could not renew its lease in time, and finds another in its place, is told so once; its commits were fenced by then.
//   N3. An operator asks nobody: it leads, and who worked without one is told so.
import type { Clock } from '../../clock.ts';
import type { Postgres, Queryable } from '../../database/index.ts';
import { type Holder, mayLive, myself, StateInUseError } from '../holder.ts';
import type { StateTables } from './schema.ts';

const LEASE_MS = 15_000;
const RENEW_EVERY_MS = 5_000;

export interface TenureOptions {
  readonly clock: Clock;
  /** Who has the state now; undefined: an operator, or nobody any more. */
  readonly onLost: (holder: Holder | undefined) => void;
}

type Row = [pid: number, host: string, sinceMs: number, endsAtMs: number, nowMs: number];

export class Tenure {
  readonly #database: Postgres;
  readonly #tables: StateTables;
  readonly #epoch: number;
  readonly #options: TenureOptions;
  #stop: () => void = () => {};
  #isOver = false;

  /** Keeps a lease that was taken in a transaction that is committed now. */
  constructor(database: Postgres, tables: StateTables, epoch: number, options: TenureOptions) {
    this.#database = database;
    this.#tables = tables;
    this.#epoch = epoch;
    this.#options = options;
    this.#renewLater();
  }

  /** Inside the transaction that claims the epoch. Throws StateInUseError (N1). */
  static async take(on: Queryable, { schema, number }: StateTables, state: string, epoch: number): Promise<void> {
    const [row] = await on.rows<Row>(holderOf(schema), [number]);
    if (row !== undefined) refuseWhileHeld(row, state);
    const { pid, host } = myself(0);
    await on.run(
      `INSERT INTO ${schema}.holders(number, epoch, pid, host) VALUES ($1, $2, $3, $4) ON CONFLICT (number) DO UPDATE
       SET epoch = excluded.epoch, pid = excluded.pid, host = excluded.host, since = clock_timestamp(), renewed = clock_timestamp()`,
      [number, epoch, pid, host],
    );
  }

  /** Whoever leads works on the state from now on (N3). */
  static async clear(on: Queryable, { schema, number }: StateTables): Promise<void> {
    await on.run(`DELETE FROM ${schema}.holders WHERE number = $1`, [number]);
  }

  /** Gives the lease back. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#stop();
    const { schema, number } = this.#tables;
    await this.#database
      .run(`DELETE FROM ${schema}.holders WHERE number = $1 AND epoch = $2`, [number, this.#epoch])
      // A server that is away hears nothing: the lease ends by itself.
      .catch(() => 0);
  }

  #renewLater(): void {
    this.#stop = this.#options.clock.after(RENEW_EVERY_MS, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { schema, number } = this.#tables;
    const renewing = this.#database.run(
      `UPDATE ${schema}.holders SET renewed = clock_timestamp() WHERE number = $1 AND epoch = $2`,
      [number, this.#epoch],
    );
    // A server that is away for a while may still have the lease when it is back.
    const isLost = await renewing.then((kept) => kept === 0).catch(() => false);
    if (this.#isOver) return;
    if (isLost) await this.#lost();
    else this.#renewLater();
  }

  async #lost(): Promise<void> {
    this.#isOver = true;
    const { schema, number } = this.#tables;
    const rows = await this.#database.rows<Row>(holderOf(schema), [number]).catch(() => []);
    this.#options.onLost(rows[0] && holderIn(rows[0]));
  }
}

const msOf = (time: string) => `extract(epoch FROM ${time})::float8 * 1000`;

const holderOf = (schema: string) =>
  `SELECT pid, host, ${msOf('since')}, ${msOf('renewed')} + ${LEASE_MS}, ${msOf('clock_timestamp()')} FROM ${schema}.holders WHERE number = $1`;

const holderIn = ([pid, host, sinceMs]: Row): Holder => ({ pid, host, sinceMs });

function refuseWhileHeld(row: Row, state: string): void {
  const [, , , endsAtMs, nowMs] = row;
  const holder = holderIn(row);
  if (endsAtMs <= nowMs || !mayLive(holder)) return;
  throw new StateInUseError(state, holder, { endsAtMs, endsInMs: endsAtMs - nowMs });
}
