// The work list: what is wanted of each item, by which update. Rules W1 to W5 are those of the port.
import type { SQLInputValue } from 'node:sqlite';
import { BulkInsert, type Sqlite } from '../../database/index.ts';
import type { Entered, NewWork, WorkEntry, WorkRef } from '../../execute/index.ts';
import { itemPath } from '../../protocol/index.ts';
import { keySegment, type SplitPath, segmentKey, sourcePath, splitPath } from '../names.ts';
import { decide, type Entry, type Settled } from '../offers.ts';
import type { Components } from './components.ts';
import { Interned } from './interned.ts';

const COLUMNS = 'seq, parent, key, owner, is_delete, version, size, reprocess, fresh, seen_at, started, losses';
const INSERT = `INSERT INTO work(${COLUMNS})`;
const VALUES = '(?,?,?,?,?,?,?,?,?,?,0,0)';
const FIND = `SELECT ${COLUMNS} FROM work WHERE parent = ? AND key = ?`;
const TAKE = `SELECT ${COLUMNS} FROM work WHERE owner = ? AND seq > ? ORDER BY seq LIMIT ?`;
const SETTLE = 'DELETE FROM work WHERE parent = ? AND key = ? AND owner = ?';
const SETTLE_RANGE = 'DELETE FROM work WHERE owner = ? AND seq BETWEEN ? AND ?';
const MARK = 'UPDATE work SET started = ? WHERE parent = ? AND key = ? AND owner = ?';

type Cells = [
  seq: number,
  parent: number,
  key: string,
  owner: number,
  isDelete: number,
  version: string,
  size: number | null,
  reprocess: number,
  fresh: number,
  seenAt: number,
  started: number,
  losses: number,
];

interface Key {
  readonly source: string;
  readonly key: string;
}

const enteredAt = (seq: number, { fresh }: NewWork): Entered =>
  fresh === true ? { kind: 'entered', seq, fresh } : { kind: 'entered', seq };

export class WorkList {
  readonly owners: Interned;
  readonly #database: Sqlite;
  readonly #inserter: BulkInsert;
  readonly #components: Components;
  #lastSeq: number;

  constructor(database: Sqlite, components: Components) {
    this.#database = database;
    this.#inserter = new BulkInsert(database, INSERT, VALUES);
    this.#components = components;
    this.owners = new Interned(database, 'owners', 'name');
    const [last] = database.sql('SELECT ifnull(max(seq), 0) FROM work').get() as unknown as [number];
    this.#lastSeq = last;
  }

  /** Names of updates that have no entry any more are of no use. */
  sweepOwners(): void {
    this.#database.exec('DELETE FROM owners WHERE id NOT IN (SELECT owner FROM work)');
    this.owners.forget();
  }

  /** Mostly nothing is there of what a listing offers, so it is looked only after an insert that met something. */
  enter(offers: readonly NewWork[]): Entered[] {
    const now = offers.map((offer) =>
      offer.fresh === true && this.#isKnown(offer) ? { ...offer, fresh: false } : offer,
    );
    const firsts = now.every(({ action }) => action === 'process') ? this.#insertFirsts(now) : [];
    return now.map((offer, index) => firsts[index] ?? this.#enterOne(offer));
  }

  /** W6 */
  #isKnown({ source, key }: Key): boolean {
    return this.#components.has({ parent: sourcePath(source), segment: keySegment(key) });
  }

  #insertFirsts(offers: readonly NewWork[]): Entered[] {
    const first = this.#lastSeq + 1;
    let seq = this.#lastSeq;
    const inserted = this.#inserter.insert(offers, (cells, at, offer) => {
      seq += 1;
      this.#putCells(cells, at, seq, offer, offer.reprocess === true);
    });
    this.#lastSeq += inserted;
    return offers.slice(0, inserted).map((offer, index) => enteredAt(first + index, offer));
  }

  #enterOne(offer: NewWork): Entered {
    const path = { parent: sourcePath(offer.source), segment: keySegment(offer.key) };
    const there = this.#find(path);
    const item = offer.action === 'delete' ? this.#components.find(path) : undefined;
    const decision = decide(offer, there && entryOf(there), item?.seenAtMs);
    if (decision === 'known' || decision === 'older') return { kind: decision };
    if (there !== undefined) this.#database.sql(SETTLE).run(there[1], there[2], there[3]);
    const seq = ++this.#lastSeq;
    const reprocess = there?.[7] === 1 || offer.reprocess === true;
    this.#inserter.insert([offer], (cells, at) => this.#putCells(cells, at, seq, offer, reprocess));
    return there === undefined ? enteredAt(seq, offer) : { kind: 'tookOver', seq, from: this.owners.text(there[3]) };
  }

  #putCells(cells: SQLInputValue[], at: number, seq: number, offer: NewWork, reprocess: boolean): void {
    cells[at] = seq;
    cells[at + 1] = this.#components.parents.ensure(sourcePath(offer.source));
    cells[at + 2] = keySegment(offer.key);
    cells[at + 3] = this.owners.ensure(offer.update);
    cells[at + 4] = offer.action === 'delete' ? 1 : 0;
    cells[at + 5] = offer.version;
    cells[at + 6] = offer.sizeBytes ?? null;
    cells[at + 7] = reprocess ? 1 : 0;
    cells[at + 8] = offer.fresh === true ? 1 : 0;
    cells[at + 9] = offer.seenAtMs;
  }

  #find(path: SplitPath): Cells | undefined {
    const parent = this.#components.parents.find(path.parent);
    return parent === undefined ? undefined : this.#findIn(parent, path.segment);
  }

  #findIn(parent: number, segment: string): Cells | undefined {
    return this.#database.sql(FIND).get(parent, segment) as unknown as Cells | undefined;
  }

  entry(path: SplitPath): WorkEntry | undefined {
    const cells = this.#find(path);
    return cells === undefined ? undefined : this.#toEntry(cells);
  }

  isEmptyFor(parent: number): boolean {
    return this.#database.sql('SELECT 1 FROM work WHERE parent = ? LIMIT 1').get(parent) === undefined;
  }

  /** Whether a listing that saw this version contradicts what is wanted of the item. */
  contradicts(parent: number, segment: string, version: string): boolean {
    const cells = this.#findIn(parent, segment);
    if (cells === undefined) return false;
    return cells[4] === 1 || (cells[5] !== '' && cells[5] !== version);
  }

  take(update: string, afterSeq: number, limit: number): WorkEntry[] {
    const owner = this.owners.find(update);
    if (owner === undefined) return [];
    const rows = this.#database.sql(TAKE).all(owner, afterSeq, limit) as unknown as Cells[];
    return rows.map((cells) => this.#toEntry(cells));
  }

  /** Whether somebody works on it. */
  mark(entry: WorkRef, isStarted: boolean): void {
    const parent = this.#components.parents.find(sourcePath(entry.source));
    const owner = this.owners.find(entry.update);
    if (parent === undefined || owner === undefined) return;
    this.#database.sql(MARK).run(isStarted ? 1 : 0, parent, keySegment(entry.key), owner);
  }

  /** Takes an entry off if it belongs to the update. */
  settle(path: SplitPath, update: string): void {
    const parent = this.#components.parents.find(path.parent);
    const owner = this.owners.find(update);
    if (parent === undefined || owner === undefined) return;
    this.#database.sql(SETTLE).run(parent, path.segment, owner);
  }

  /** Entries that were entered one after another mostly end together: then one statement takes them off. */
  settleAll(settled: readonly Settled[]): void {
    const byOwner = new Map<string, number[]>();
    for (const { path, settles, settlesSeq } of settled) {
      const seqs = byOwner.get(settles);
      if (settlesSeq === undefined) this.settle(splitPath(path), settles);
      else if (seqs === undefined) byOwner.set(settles, [settlesSeq]);
      else seqs.push(settlesSeq);
    }
    for (const [update, seqs] of byOwner) {
      const owner = this.owners.find(update);
      if (owner === undefined) continue;
      for (const [first, last] of rangesOf(seqs)) this.#database.sql(SETTLE_RANGE).run(owner, first, last);
    }
  }

  drop(update: string, { source, key, seq }: Key & { readonly seq?: number }): void {
    this.settleAll([{ path: itemPath(source, key), settles: update, ...(seq !== undefined && { settlesSeq: seq }) }]);
  }

  count(filter: { readonly update?: string; readonly source?: string }): number {
    const wheres = ['1 = 1'];
    const values: number[] = [];
    if (filter.update !== undefined) {
      wheres.push('owner = ?');
      values.push(this.owners.find(filter.update) ?? -1);
    }
    if (filter.source !== undefined) {
      wheres.push('parent = ?');
      values.push(this.#components.parents.find(sourcePath(filter.source)) ?? -1);
    }
    const row = this.#database.sql(`SELECT count(*) FROM work WHERE ${wheres.join(' AND ')}`).get(...values);
    return (row as unknown as [number])[0];
  }

  adopt(source: string, update: string, open: readonly string[]): number {
    const parent = this.#components.parents.find(sourcePath(source));
    if (parent === undefined) return 0;
    const keep = [...open, update].map((name) => this.owners.find(name) ?? -1);
    const left = `parent = ? AND owner NOT IN (SELECT value FROM json_each(?))`;
    const values = [parent, JSON.stringify(keep)] as const;
    this.#database.sql(`DELETE FROM work WHERE ${left} AND is_delete = 1`).run(...values);
    this.#database
      .sql(`UPDATE work SET owner = ?, losses = losses + started, started = 0, fresh = 0 WHERE ${left}`)
      .run(this.owners.ensure(update), ...values);
    return this.count({ source, update });
  }

  #toEntry(cells: Cells): WorkEntry {
    const entry: { -readonly [K in keyof WorkEntry]: WorkEntry[K] } = {
      source: segmentKey(this.#components.parents.text(cells[1])),
      key: segmentKey(cells[2]),
      action: cells[4] === 1 ? 'delete' : 'process',
      version: cells[5],
      update: this.owners.text(cells[3]),
      seenAtMs: cells[9],
      seq: cells[0],
      losses: cells[11],
    };
    if (cells[6] !== null) entry.sizeBytes = cells[6];
    if (cells[7] === 1) entry.reprocess = true;
    if (cells[8] === 1) entry.fresh = true;
    return entry;
  }
}

/** The least and the greatest of each row of numbers without a gap. */
function rangesOf(seqs: number[]): [first: number, last: number][] {
  const ranges: [number, number][] = [];
  for (const seq of seqs.sort((a, b) => a - b)) {
    const range = ranges.at(-1);
    if (range !== undefined && range[1] + 1 === seq) range[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges;
}

function entryOf(cells: Cells): Entry {
  return { isDelete: cells[4] === 1, version: cells[5], reprocess: cells[7] === 1, seenAtMs: cells[9] };
}
