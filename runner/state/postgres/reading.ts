// What the shared state answers without writing: comparing listings, what runs find, scans.
import { binary, type Queryable } from '../../database/index.ts';
import type { Comparison, ComponentRef, Extent, ItemRecord, ListedItem, Opened, Verdict } from '../../execute/index.ts';
import type { HeldItems } from '../../protocol/index.ts';
import { joinPath, keySegment, segmentKey, sourceAt, sourcePath, splitPath } from '../names.ts';
import { itemOf, STATUSES } from '../records.ts';
import { Components, ROW_WIDTH, type RowCells, rowColumns, toRow } from './components.ts';
import type { StateTables } from './schema.ts';
import { toEntry, WORK_WIDTH, type WorkCells, workColumns } from './work.ts';

const NEW: Comparison = { id: 0, verdict: 'new' };
const VERDICTS: readonly Verdict[] = ['unchanged', 'changed', 'stale', 'failed', 'quarantined'];

export class Reading {
  readonly #on: Queryable;
  readonly #tables: StateTables;

  constructor(on: Queryable, tables: StateTables) {
    this.#on = on;
    this.#tables = tables;
  }

  /** The verdict is found in the database (as its index in `VERDICTS`), so that only two numbers of each known item come back. */
  async compare(source: string, items: readonly ListedItem[], fingerprint: string): Promise<Comparison[]> {
    const rows = await this.#on.rows<[place: number, id: number, verdict: number]>(
      `SELECT n.place::int, c.id, CASE
         WHEN w.is_delete OR (w.version <> '' AND w.version <> n.version) OR c.version <> n.version THEN 1
         WHEN c.status > 0 THEN c.status + 2
         WHEN c.fingerprint <> $4 THEN 2
         ELSE 0 END
       FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n(key, version, place)
       JOIN ${this.#tables.table('components')} c ON c.parent = $3 AND c.key = n.key
       LEFT JOIN ${this.#tables.table('work')} w ON w.parent = $3 AND w.key = n.key`,
      [
        binary.texts(items.map(({ key }) => keySegment(key))),
        binary.texts(items.map(({ version }) => version)),
        sourcePath(source),
        fingerprint,
      ],
    );
    const comparisons: Comparison[] = items.map(() => NEW);
    for (const [place, id, verdict] of rows) comparisons[place - 1] = { id, verdict: VERDICTS[verdict] as Verdict };
    return comparisons;
  }

  async begin(refs: readonly ComponentRef[]): Promise<Opened[]> {
    const split = refs.map(({ path }) => splitPath(path));
    const rows = await this.#on.rows<[number, ...unknown[]]>(
      `SELECT n.place::int, ${rowColumns('c')}, h.rows, h.value, ${workColumns('w')}
       FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n(parent, key, place)
       LEFT JOIN ${this.#tables.table('components')} c ON c.parent = n.parent AND c.key = n.key
       LEFT JOIN ${this.#tables.table('holdings')} h ON h.component = c.id
       LEFT JOIN ${this.#tables.table('work')} w ON w.parent = n.parent AND w.key = n.key`,
      [binary.texts(split.map(({ parent }) => parent)), binary.texts(split.map(({ segment }) => segment))],
    );
    const found = rows.map(([place, ...cells]) => foundOf(refs[place - 1] as ComponentRef, cells));
    const held = found.flatMap(({ row, packed, value }) => (row === undefined ? [] : [{ row, packed, value }]));
    const records = await new Components(this.#on, this.#tables).recordsOf(held);
    const opened = new Map(
      found.map(({ ref, row, entry }): [ComponentRef, Opened] => {
        const component = records.get(ref.path);
        return [
          ref,
          {
            ...(ref.item === undefined || entry === undefined ? {} : { work: entry }),
            ...(ref.item === undefined || row === undefined ? {} : { item: itemOf(row, ref.item.source) }),
            ...(component === undefined ? {} : { component }),
          },
        ];
      }),
    );
    return refs.map((ref) => opened.get(ref) ?? {});
  }

  async item(source: string, key: string): Promise<ItemRecord | undefined> {
    const [cells] = await this.#on.rows<RowCells>(
      `SELECT ${rowColumns('c')} FROM ${this.#tables.table('components')} c WHERE parent = $1 AND key = $2`,
      [sourcePath(source), keySegment(key)],
    );
    return cells === undefined ? undefined : itemOf(toRow(cells), source);
  }

  async scanItems(
    filter: { readonly source?: string; readonly status?: ItemRecord['status']; readonly otherThan?: string },
    afterId: number,
    limit: number,
  ): Promise<ItemRecord[]> {
    const values: (string | number)[] = [afterId, limit];
    const wheres = ['is_item', 'id > $1'];
    if (filter.source !== undefined) wheres.push(`parent = $${values.push(sourcePath(filter.source))}`);
    if (filter.status !== undefined) wheres.push(`status = $${values.push(STATUSES.indexOf(filter.status))}`);
    if (filter.otherThan !== undefined) wheres.push(`fingerprint <> $${values.push(filter.otherThan)}`);
    const rows = await this.#on.rows<RowCells>(
      `SELECT ${rowColumns('c')} FROM ${this.#tables.table('components')} c WHERE ${wheres.join(' AND ')} ORDER BY id LIMIT $2`,
      values,
    );
    return rows.map((cells) => itemOf(toRow(cells), segmentKey(cells[1])));
  }

  async scanKeys(source: string, afterId: number, limit: number) {
    const rows = await this.#on.rows<[number, string, number]>(
      `SELECT id, key, seen_at FROM ${this.#tables.table('components')} WHERE is_item AND parent = $1 AND id > $2 ORDER BY id LIMIT $3`,
      [sourcePath(source), afterId, limit],
    );
    return rows.map(([id, segment, seenAtMs]) => ({ id, key: segmentKey(segment), seenAtMs }));
  }

  async extent(source: string): Promise<Extent> {
    const [row] = await this.#on.rows<[number, number]>(
      `SELECT (SELECT count(*) FROM ${this.#tables.table('components')} WHERE is_item AND parent = $1),
              (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ${this.#tables.table('ids')})`,
      [sourcePath(source)],
    );
    return { items: row?.[0] ?? 0, lastId: row?.[1] ?? 0 };
  }

  /** Sources by their names; by indexes, so that the size of what is stored does not count. */
  async heldItems(): Promise<HeldItems[]> {
    const components = this.#tables.table('components');
    const rows = await this.#on.rows<[string, number, number, number]>(
      `SELECT sums.parent, sums.total, coalesce(bad.failed, 0), coalesce(bad.quarantined, 0)
       FROM (SELECT parent, count(*) AS total FROM ${components} WHERE is_item GROUP BY parent) AS sums
       LEFT JOIN (
         SELECT parent, count(*) FILTER (WHERE status = 1) AS failed, count(*) FILTER (WHERE status = 2) AS quarantined
         FROM ${components} WHERE status > 0 AND is_item GROUP BY parent
       ) AS bad USING (parent)
       ORDER BY sums.parent`,
      [],
    );
    return rows.map(([path, total, failed, quarantined]) => ({ source: sourceAt(path), total, failed, quarantined }));
  }

  async children(path: string, afterPath: string, limit: number): Promise<string[]> {
    const after = afterPath === '' ? '' : splitPath(afterPath).segment;
    const rows = await this.#on.rows<[string]>(
      `SELECT key FROM ${this.#tables.table('components')} WHERE parent = $1 AND key > $2 ORDER BY key LIMIT $3`,
      [path, after, limit],
    );
    return rows.map(([segment]) => joinPath(path, segment));
  }

  async sizes() {
    const tables = ['components', 'holdings', 'intents', 'work', 'memo', 'updates'].map((name) =>
      this.#tables.table(name),
    );
    const [row] = await this.#on.rows<[number, number, number, number, number]>(
      `SELECT (SELECT sum(pg_total_relation_size(name::regclass))::int8 FROM unnest($1::text[]) AS name),
              (SELECT count(*) FROM ${this.#tables.table('components')} WHERE is_item),
              (SELECT count(*) FROM ${this.#tables.table('components')}),
              (SELECT count(*) FROM ${this.#tables.table('memo')}),
              (SELECT count(*) FROM ${this.#tables.table('work')})`,
      [binary.texts(tables)],
    );
    const [bytes, items, components, memoEntries, work] = row as [number, number, number, number, number];
    return { bytes, items, components, memoEntries, work };
  }
}

function foundOf(ref: ComponentRef, cells: readonly unknown[]) {
  const workAt = ROW_WIDTH + 2;
  const row = cells[0] === null ? undefined : toRow(cells as unknown as RowCells);
  const work = cells.slice(workAt, workAt + WORK_WIDTH) as unknown as WorkCells;
  return {
    ref,
    row,
    packed: cells[ROW_WIDTH] as Buffer | null,
    value: cells[ROW_WIDTH + 1] as string | null,
    entry: (work[0] as number | null) === null ? undefined : toEntry(work),
  };
}
