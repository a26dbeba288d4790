// Who works on a shared state: one process without an operator, or the runners of operators. Fencing by epochs keeps rows right without it; these
// leases keep people from taking a state from each other without a word.
//   N1. As long as a lease runs, no process without an operator is let in; nor is a runner while it is that of such a process. One that ends gives
//       its lease back, and one of this machine that is gone has none.
//   N2. A process that could not renew its lease in time, and finds it gone because another one was let in, is told so once; its commits were fenced by then.
import type { Clock } from '../../clock.ts';
import type { Postgres, Queryable } from '../../database/index.ts';
import { claimed, type Epochs } from '../epochs.ts';
import { type Holder, mayLive, myself, StateInUseError } from '../holder.ts';
import type { StateTables } from './schema.ts';

const LEASE_MS = 15_000;
const RENEW_EVERY_MS = 5_000;
/** Leases of runners that were killed are looked at no more after this time, and forgotten. */
const FORGOTTEN_AFTER = "interval '1 day'";

export interface TenureOptions {
  readonly clock: Clock;
  /** Who has the state now; undefined: nobody any more. */
  readonly onLost: (holder: Holder | undefined) => void;
}

type Row = [pid: number, host: string, isRunner: boolean, sinceMs: number, endsAtMs: number, nowMs: number];

export class Tenure {
  readonly #database: Postgres;
  readonly #tables: StateTables;
  readonly #id: number;
  readonly #options: TenureOptions;
  #stop: () => void = () => {};
  #isOver = false;

  /** Keeps a lease that was taken in a transaction that is committed now. */
  constructor(database: Postgres, tables: StateTables, id: number, options: TenureOptions) {
    this.#database = database;
    this.#tables = tables;
    this.#id = id;
    this.#options = options;
    this.#renewLater();
  }

  /** Inside the transaction that claims the epoch. Throws StateInUseError (N1, P3); answers the lease and the epochs from now on. */
  static async take(
    on: Queryable,
    { schema, number }: StateTables,
    state: string,
    { wanted, seen }: { readonly wanted: number | 'next'; readonly seen: Epochs },
  ): Promise<{ readonly id: number; readonly epochs: Epochs }> {
    const isRunner = wanted !== 'next';
    const rows = await on.rows<Row>(holdersOf(schema), [number]);
    const running = rows.filter(isRunning);
    const inTheWay = running.find((row) => !isRunner || !holderIn(row).isRunner);
    if (inTheWay !== undefined) throw refusal(state, inTheWay);
    const epochs = claimed(wanted, seen, running.length === 0);
    if (epochs === undefined) throw refusal(state, running[0]!);
    const followsOthers = isRunner && epochs.shift === seen.shift;
    const isOver = followsOthers ? `NOT is_runner OR renewed < clock_timestamp() - ${FORGOTTEN_AFTER}` : 'true';
    await on.run(`DELETE FROM ${schema}.tenures WHERE number = $1 AND (${isOver})`, [number]);
    const { pid, host } = myself(0);
    const [inserted] = await on.rows<[number]>(
      `INSERT INTO ${schema}.tenures(number, pid, host, is_runner) VALUES ($1, $2, $3, $4) RETURNING id`,
      [number, pid, host, isRunner],
    );
    return { id: inserted![0], epochs };
  }

  /** Gives the lease back. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#stop();
    await this.#database
      .run(`DELETE FROM ${this.#tables.schema}.tenures WHERE id = $1`, [this.#id])
      // A server that is away hears nothing: the lease ends by itself.
      .catch(() => 0);
  }

  #renewLater(): void {
    this.#stop = this.#options.clock.after(RENEW_EVERY_MS, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const renewing = this.#database.run(
      `UPDATE ${this.#tables.schema}.tenures SET renewed = clock_timestamp() WHERE id = $1`,
      [this.#id],
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
    const rows = await this.#database.rows<Row>(holdersOf(schema), [number]).catch(() => []);
    this.#options.onLost(rows[0] && holderIn(rows[0]));
  }
}

const msOf = (time: string) => `extract(epoch FROM ${time})::float8 * 1000`;

/** The one that will hold it longest first. */
const holdersOf = (schema: string) =>
  `SELECT pid, host, is_runner, ${msOf('since')}, ${msOf('renewed')} + ${LEASE_MS}, ${msOf('clock_timestamp()')}
   FROM ${schema}.tenures WHERE number = $1 ORDER BY renewed DESC`;

const holderIn = ([pid, host, isRunner, sinceMs]: Row): Holder => ({ pid, host, sinceMs, isRunner });

const isRunning = (row: Row): boolean => row[4] > row[5] && mayLive(holderIn(row));

function refusal(state: string, row: Row): StateInUseError {
  const [, , , , endsAtMs, nowMs] = row;
  return new StateInUseError(state, holderIn(row), { endsAtMs, endsInMs: endsAtMs - nowMs });
}
