// The work list of the shared state. Rules W1 to W5 are decided by `../offers.ts`; here the entries are read, locked and written in bulk.
import { binary, type Queryable, TryAgain } from '../../database/index.ts';
import type { Entered, NewWork, WorkEntry, WorkRef } from '../../execute/index.ts';
import { itemPath } from '../../protocol/index.ts';
import { distinctRuns } from '../batches.ts';
import { joinPath, keySegment, segmentKey, sourcePath, splitPath } from '../names.ts';
import { type Decision, decide, type Settled } from '../offers.ts';
import type { StateTables } from './schema.ts';

export type WorkCells = [
  seq: number,
  parent: string,
  key: string,
  owner: string,
  isDelete: boolean,
  version: string,
  size: number | null,
  reprocess: boolean,
  seenAt: number,
  losses: number,
  fresh: boolean,
];

const NAMES = [
  'seq',
  'parent',
  'key',
  'owner',
  'is_delete',
  'version',
  'size',
  'reprocess',
  'seen_at',
  'losses',
  'fresh',
];
export const workColumns = (alias: string): string => NAMES.map((name) => `${alias}.${name}`).join(', ');
export const WORK_WIDTH = NAMES.length;

/** Stands for any number of an entry: they begin with 1. */
const ANY_SEQ = 0;

interface Key {
  readonly source: string;
  readonly key: string;
}

interface Accepted {
  readonly offer: NewWork;
  /** W6 */
  readonly isFresh: boolean;
  readonly there: WorkCells | undefined;
}

export class WorkList {
  readonly #on: Queryable;
  readonly #tables: StateTables;
  readonly #table: string;

  constructor(on: Queryable, tables: StateTables) {
    this.#on = on;
    this.#tables = tables;
    this.#table = tables.table('work');
  }

  async enter(offers: readonly NewWork[]): Promise<Entered[]> {
    const entered: Entered[] = [];
    for (const run of distinctRuns(offers, (offer) => itemPathOf(offer))) entered.push(...(await this.#enterRun(run)));
    return entered;
  }

  async #enterRun(offers: readonly NewWork[]): Promise<Entered[]> {
    const there = await this.#lock(offers);
    const seen = await this.#seenItems(offers.filter(({ action, fresh }) => action === 'delete' || fresh === true));
    const decisions = offers.map((offer): [Decision, Accepted] => {
      const path = itemPathOf(offer);
      const entry = there.get(path);
      const isFresh = offer.fresh === true && entry === undefined && !seen.has(path);
      return [decide(offer, entry && entryOf(entry), seen.get(path)), { offer, isFresh, there: entry }];
    });
    const accepted = decisions.filter(([decision]) => decision === 'enter' || decision === 'takeOver');
    const seqs = await this.#replace(accepted.map(([, offered]) => offered));
    return decisions.map(([decision, offered]): Entered => {
      if (decision === 'known' || decision === 'older') return { kind: decision };
      const { isFresh, there } = offered;
      const seq = seqs.shift() as number;
      if (there !== undefined) return { kind: 'tookOver', seq, from: there[3] };
      return isFresh ? { kind: 'entered', seq, fresh: true } : { kind: 'entered', seq };
    });
  }

  async #lock(offers: readonly NewWork[]): Promise<Map<string, WorkCells>> {
    const rows = await this.#on.rows<WorkCells>(
      `SELECT ${workColumns('w')} FROM unnest($1::text[], $2::text[]) AS n(parent, key)
       JOIN ${this.#table} w ON w.parent = n.parent AND w.key = n.key ORDER BY w.seq FOR UPDATE OF w`,
      keyArrays(offers),
    );
    return new Map(rows.map((cells) => [joinPath(cells[1], cells[2]), cells]));
  }

  async #seenItems(offers: readonly NewWork[]): Promise<Map<string, number>> {
    if (offers.length === 0) return new Map();
    const rows = await this.#on.rows<[string, string, number]>(
      `SELECT c.parent, c.key, c.seen_at FROM unnest($1::text[], $2::text[]) AS n(parent, key)
       JOIN ${this.#tables.table('components')} c ON c.parent = n.parent AND c.key = n.key`,
      keyArrays(offers),
    );
    return new Map(rows.map(([parent, key, seenAt]) => [joinPath(parent, key), seenAt]));
  }

  /** Puts entries in the place of those that were there; answers their numbers, which grow in the order of the offers. */
  async #replace(accepted: readonly Accepted[]): Promise<number[]> {
    if (accepted.length === 0) return [];
    const gone = accepted.flatMap(({ there }) => (there === undefined ? [] : [there[0]]));
    if (gone.length > 0)
      await this.#on.run(`DELETE FROM ${this.#table} WHERE seq = ANY($1::int8[])`, [binary.bigints(gone)]);
    const numbers = await this.#on.rows<[number]>(
      `SELECT nextval('${this.#tables.table('seqs')}') FROM generate_series(1, $1)`,
      [accepted.length],
    );
    const seqs = numbers.map(([seq]) => seq);
    const inserted = await this.#insert(accepted, seqs);
    if (inserted < accepted.length) throw new TryAgain('an entry appeared meanwhile');
    return seqs;
  }

  #insert(accepted: readonly Accepted[], seqs: readonly number[]): Promise<number> {
    const offers = accepted.map(({ offer }) => offer);
    return this.#on.run(
      `INSERT INTO ${this.#table}(seq, parent, key, owner, is_delete, version, size, reprocess, seen_at, fresh)
       SELECT * FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::bool[], $6::text[], $7::int8[], $8::bool[], $9::float8[], $10::bool[])
       ON CONFLICT (parent, key) DO NOTHING`,
      [
        binary.bigints(seqs),
        ...keyArrays(offers),
        binary.texts(offers.map(({ update }) => update)),
        binary.booleans(offers.map(({ action }) => action === 'delete')),
        binary.texts(offers.map(({ version }) => version)),
        binary.bigints(offers.map(({ sizeBytes }) => sizeBytes)),
        binary.booleans(accepted.map(({ offer, there }) => offer.reprocess === true || there?.[7] === true)),
        binary.doubles(offers.map(({ seenAtMs }) => seenAtMs)),
        binary.booleans(accepted.map(({ isFresh }) => isFresh)),
      ],
    );
  }

  async take(update: string, afterSeq: number, limit: number): Promise<WorkEntry[]> {
    const rows = await this.#on.rows<WorkCells>(
      `SELECT ${workColumns('w')} FROM ${this.#table} w WHERE w.owner = $1 AND w.seq > $2 ORDER BY w.seq LIMIT $3`,
      [update, afterSeq, limit],
    );
    return rows.map(toEntry);
  }

  /** Whether somebody works on them. */
  async mark(entries: readonly WorkRef[], isStarted: boolean): Promise<void> {
    await this.#on.run(
      `UPDATE ${this.#table} w SET started = ${isStarted ? 1 : 0} FROM unnest($1::text[], $2::text[], $3::text[]) AS n(parent, key, owner)
       WHERE w.parent = n.parent AND w.key = n.key AND w.owner = n.owner`,
      [...keyArrays(entries), binary.texts(entries.map(({ update }) => update))],
    );
  }

  async drop(update: string, items: readonly (Key & { readonly seq?: number })[]): Promise<void> {
    await this.settle(
      items.map(({ source, key, seq }) => ({
        path: itemPath(source, key),
        settles: update,
        ...(seq !== undefined && { settlesSeq: seq }),
      })),
    );
  }

  /** Takes entries off that belong to the update that settles them, and have the number that is given. */
  async settle(settled: readonly Settled[]): Promise<void> {
    if (settled.length === 0) return;
    const paths = settled.map(({ path }) => splitPath(path));
    await this.#on.run(
      `DELETE FROM ${this.#table} w USING unnest($1::text[], $2::text[], $3::text[], $4::int8[]) AS n(parent, key, owner, seq)
       WHERE w.parent = n.parent AND w.key = n.key AND w.owner = n.owner AND n.seq IN (w.seq, ${ANY_SEQ})`,
      [
        binary.texts(paths.map(({ parent }) => parent)),
        binary.texts(paths.map(({ segment }) => segment)),
        binary.texts(settled.map(({ settles }) => settles)),
        binary.bigints(settled.map(({ settlesSeq = ANY_SEQ }) => settlesSeq)),
      ],
    );
  }

  async count({ update, source }: { readonly update?: string; readonly source?: string }): Promise<number> {
    const wheres = ['true'];
    const values: string[] = [];
    if (update !== undefined) wheres.push(`owner = $${values.push(update)}`);
    if (source !== undefined) wheres.push(`parent = $${values.push(sourcePath(source))}`);
    const [row] = await this.#on.rows<[number]>(
      `SELECT count(*) FROM ${this.#table} WHERE ${wheres.join(' AND ')}`,
      values,
    );
    return row?.[0] ?? 0;
  }

  async adopt(source: string, update: string, open: readonly string[]): Promise<number> {
    const left = 'parent = $1 AND owner <> ALL($2::text[])';
    const values = [sourcePath(source), binary.texts([...open, update])];
    await this.#on.run(`DELETE FROM ${this.#table} WHERE ${left} AND is_delete`, values);
    await this.#on.run(
      `UPDATE ${this.#table} SET owner = $3, losses = losses + started, started = 0, fresh = false WHERE ${left}`,
      [...values, update],
    );
    return this.count({ source, update });
  }
}

const itemPathOf = ({ source, key }: Key): string => joinPath(sourcePath(source), keySegment(key));

function keyArrays(items: readonly Key[]): Buffer[] {
  return [
    binary.texts(items.map(({ source }) => sourcePath(source))),
    binary.texts(items.map(({ key }) => keySegment(key))),
  ];
}

const entryOf = (cells: WorkCells) => ({
  isDelete: cells[4],
  version: cells[5],
  reprocess: cells[7],
  seenAtMs: cells[8],
});

export function toEntry(cells: WorkCells): WorkEntry {
  const [seq, parent, segment, owner, isDelete, version, size, reprocess, seenAtMs, losses, fresh] = cells;
  return {
    seq,
    source: segmentKey(parent),
    key: segmentKey(segment),
    action: isDelete ? 'delete' : 'process',
    version,
    ...(size === null ? {} : { sizeBytes: size }),
    ...(reprocess ? { reprocess: true } : {}),
    ...(fresh ? { fresh: true } : {}),
    update: owner,
    seenAtMs,
    losses,
  };
}
