// Compares batches of a listing with the state. Listings mostly come in the order of their keys, so a batch is mostly one range of
// the index: reading that range is several times faster than asking for each key. A batch that is scattered is asked for key by key.
import type { Sqlite } from '../../database/index.ts';
import type { Comparison, ListedItem, Verdict } from '../../execute/index.ts';
import { keySegment, sourcePath } from '../names.ts';
import { STATUSES } from '../records.ts';
import type { Components } from './components.ts';
import type { WorkList } from './work.ts';

const KNOWN = 'SELECT key, id, version, fingerprint, status FROM components WHERE parent = ?';
const RANGE = `${KNOWN} AND key >= ? AND key <= ? ORDER BY key LIMIT ?`;
const ONE = `${KNOWN} AND key = ?`;
/** A range is read as long as it holds at most this many times the batch. */
const SPREAD_MAX = 4;
/** After a scattered batch so many are asked for key by key before a range is tried again. */
const SCATTERED_BATCHES = 16;

type Known = [key: string, id: number, version: string, fingerprint: string, status: number];

const NEW: Comparison = { id: 0, verdict: 'new' };

export class Comparing {
  readonly #database: Sqlite;
  readonly #components: Components;
  readonly #work: WorkList;
  #batchesWithoutRange = 0;

  constructor(database: Sqlite, components: Components, work: WorkList) {
    this.#database = database;
    this.#components = components;
    this.#work = work;
  }

  compare(source: string, items: readonly ListedItem[], fingerprint: string): Comparison[] {
    const parent = this.#components.parents.find(sourcePath(source));
    if (parent === undefined || items.length === 0) return items.map(() => NEW);
    const segments = items.map((item) => keySegment(item.key));
    const known = this.#known(parent, segments);
    const contradicted = this.#work.isEmptyFor(parent) ? undefined : this.#work;
    return items.map((item, index) => {
      const segment = segments[index] as string;
      const row = known.get(segment);
      if (row === undefined) return NEW;
      if (contradicted?.contradicts(parent, segment, item.version)) return { id: row[1], verdict: 'changed' };
      return { id: row[1], verdict: verdictOf(row, item.version, fingerprint) };
    });
  }

  #known(parent: number, segments: readonly string[]): Map<string, Known> {
    const range = this.#batchesWithoutRange > 0 ? CUT : this.#range(parent, segments);
    if (this.#batchesWithoutRange > 0) this.#batchesWithoutRange--;
    const found = new Map<string, Known>();
    for (const row of range.rows) found.set(row[0], row);
    if (range.isWhole && !segments.some(isOrderedOtherwise)) return found;
    const one = this.#database.sql(ONE);
    for (const segment of segments) {
      if (found.has(segment)) continue;
      const row = one.get(parent, segment);
      if (row !== undefined) found.set(segment, row as unknown as Known);
    }
    return found;
  }

  /** All that is known between the least and the greatest key of the batch, unless that is far more than the batch. */
  #range(parent: number, segments: readonly string[]): Range {
    let least = segments[0] as string;
    let greatest = least;
    for (const segment of segments) {
      if (segment < least) least = segment;
      else if (segment > greatest) greatest = segment;
    }
    const limit = segments.length * SPREAD_MAX;
    const rows = this.#database.sql(RANGE).all(parent, least, greatest, limit) as unknown as Known[];
    if (rows.length === limit) this.#batchesWithoutRange = SCATTERED_BATCHES;
    return { rows, isWhole: rows.length < limit };
  }
}

interface Range {
  readonly rows: readonly Known[];
  /** Whether a key of the batch that is not among the rows is unknown. */
  readonly isWhole: boolean;
}

const CUT: Range = { rows: [], isWhole: false };

/** JavaScript orders texts by UTF-16 units, SQLite by bytes of UTF-8: they differ only where surrogates are compared with what lies above them. */
const isOrderedOtherwise = (segment: string): boolean => /[\ud800-\uffff]/.test(segment);

function verdictOf(row: Known, version: string, fingerprint: string): Verdict {
  const [, , knownVersion, knownFingerprint, statusNumber] = row;
  const status = STATUSES[statusNumber];
  if (knownVersion !== version) return 'changed';
  if (status !== 'ok') return status ?? 'failed';
  return knownFingerprint === fingerprint ? 'unchanged' : 'stale';
}
