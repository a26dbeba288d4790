// Commits: a component's record, its item's record, its memo, its work entry and its rows in shared targets, in the transaction that
// the caller opened. Fencing is decided by `../fencing.ts`; what stands in each record after each kind of commit is decided here.
import type { Sqlite, SqliteLodger } from '../../database/index.ts';
import type { Commit, CommitResult, Intent, RowChange } from '../../execute/index.ts';
import { compareTokens, type FencingToken } from '../../protocol/index.ts';
import { COMMITTED, isMoved, MOVED, refuse } from '../fencing.ts';
import { type SplitPath, splitPath } from '../names.ts';
import type { Settled } from '../offers.ts';
import { firstRow, hasSucceeded, isBlank, rowAfter } from '../records.ts';
import type { Components, PlacedRow } from './components.ts';
import type { History } from './history.ts';
import type { MemoTable } from './memo.ts';
import type { Removals } from './removals.ts';
import type { WorkList } from './work.ts';

export interface Tables {
  readonly database: Sqlite;
  readonly components: Components;
  readonly work: WorkList;
  readonly memo: MemoTable;
  readonly history: History;
  readonly removals: Removals;
}

type Replace = Extract<Commit, { kind: 'replace' }>;
type Fail = Extract<Commit, { kind: 'fail' }>;
type Remove = Extract<Commit, { kind: 'remove' }>;
type Change = readonly [target: string, change: RowChange];

export class Commits {
  readonly #tables: Tables;
  readonly #lodgers: ReadonlyMap<string, SqliteLodger<RowChange>>;

  constructor(tables: Tables, lodgers: readonly SqliteLodger<RowChange>[]) {
    this.#tables = tables;
    this.#lodgers = new Map(lodgers.map((lodger) => [lodger.name, lodger]));
  }

  commit(group: readonly Commit[], epoch: number, nowMs: number): CommitResult[] {
    const results: CommitResult[] = [];
    while (results.length < group.length) {
      const firsts = this.#firsts(group, results.length, epoch);
      const inserted = this.#insertFirsts(firsts, nowMs);
      const rest = group.slice(results.length + inserted, results.length + Math.max(firsts.length, 1));
      results.push(...firsts.slice(0, inserted).map(() => COMMITTED));
      for (const commit of rest) results.push(this.#commitOne(commit, epoch, nowMs));
    }
    this.#finish(group.filter((_, index) => results[index] === COMMITTED));
    return results;
  }

  /** What follows from `from` on of components that probably have no record and that nothing could fence. */
  #firsts(group: readonly Commit[], from: number, epoch: number): Replace[] {
    const firsts: Replace[] = [];
    if (!this.#tables.removals.isEmpty) return firsts;
    for (let at = from; at < group.length; at += 1) {
      const commit = group[at] as Commit;
      if (commit.kind !== 'replace' || commit.base !== undefined || commit.token.epoch < epoch) break;
      firsts.push(commit);
    }
    return firsts;
  }

  /** The short way of a first index: these cost a share of one statement. Answers how many of them went this way, before one that has a record. */
  #insertFirsts(firsts: readonly Replace[], nowMs: number): number {
    const { components } = this.#tables;
    const rows = firsts.map((commit) => firstRow(commit, components.place(splitPath(commit.path)), nowMs));
    const inserted = components.insertNew(rows);
    for (let at = 0; at < inserted; at += 1)
      this.#finishFirst(firsts[at] as Replace, (rows[at] as PlacedRow).id, nowMs);
    return inserted;
  }

  #finishFirst(commit: Replace, id: number, nowMs: number): void {
    if (commit.memo !== undefined) this.#tables.memo.change(id, commit.memo, false, nowMs);
    this.#tables.components.hold(id, true, commit.rows, valueText(commit));
  }

  #commitOne(commit: Commit, epoch: number, nowMs: number): CommitResult {
    const path = splitPath(commit.path);
    const row = this.#tables.components.find(path);
    const refused = this.#refuse(commit.path, commit.token, row, epoch);
    if (refused !== undefined) return refused;
    if (isMoved(commit, row && { token: row.token, hasSucceeded: hasSucceeded(row) })) return MOVED;
    this.#write(commit, path, row, nowMs);
    return COMMITTED;
  }

  /** What is done once for all that were committed. */
  #finish(committed: readonly Commit[]): void {
    this.#tables.work.settleAll(committed.filter((commit) => commit.settles !== undefined) as Settled[]);
    this.#applyShared(committed.flatMap((commit) => ('changes' in commit ? [...commit.changes] : [])));
  }

  #applyShared(changes: readonly Change[]): void {
    const byTarget = new Map<string, RowChange[]>();
    for (const [target, change] of changes) {
      const list = byTarget.get(target);
      if (list === undefined) byTarget.set(target, [change]);
      else list.push(change);
    }
    for (const [target, list] of byTarget) {
      const lodger = this.#lodgers.get(target);
      if (lodger === undefined)
        throw new Error(`target ${target} does not live in the state ${this.#tables.database.file}`);
      lodger.applyNow(list);
    }
  }

  #refuse(path: string, token: FencingToken, row: PlacedRow | undefined, epoch: number): CommitResult | undefined {
    const intents = row === undefined ? [] : this.#tables.components.intents(row.id).map((intent) => intent.token);
    const removal = isBlank(row) ? this.#tables.removals.of(path) : [];
    return refuse(token, { epoch, recorded: row?.token, others: [...intents, ...removal] });
  }

  #write(commit: Commit, path: SplitPath, row: PlacedRow | undefined, nowMs: number): void {
    if (commit.kind === 'replace') this.#replace(commit, path, row, nowMs);
    else if (commit.kind === 'fail') this.#fail(commit, path, row, nowMs);
    else if (commit.kind === 'remove') this.#remove(commit, row, nowMs);
    else if (row !== undefined) this.#tables.components.write(rowAfter(commit, row, nowMs));
  }

  #replace(commit: Replace, path: SplitPath, row: PlacedRow | undefined, nowMs: number): void {
    const { components, memo } = this.#tables;
    const base = row ?? components.blank(path, commit.item !== undefined);
    const memoised =
      commit.memo === undefined ? base.memoised : memo.change(base.id, commit.memo, base.memoised, nowMs);
    components.write({ ...rowAfter(commit, base, nowMs), memoised });
    components.hold(base.id, row === undefined, commit.rows, valueText(commit));
    if (row !== undefined) components.clearIntents(row.id);
    if (isBlank(row)) this.#tables.removals.forget(commit.path);
  }

  #fail(commit: Fail, path: SplitPath, row: PlacedRow | undefined, nowMs: number): void {
    if (row === undefined && commit.item === undefined) return;
    const base = row ?? this.#tables.components.blank(path, true);
    this.#tables.components.write(rowAfter(commit, base, nowMs));
    if (isBlank(row)) this.#tables.removals.forget(commit.path);
  }

  #remove(commit: Remove, row: PlacedRow | undefined, nowMs: number): void {
    const { components, history, memo, removals } = this.#tables;
    if (row !== undefined) {
      if (commit.memo !== undefined) memo.change(row.id, { ...commit.memo, put: [], uses: [] }, row.memoised, nowMs);
      else if (row.memoised) memo.retireAll(row.id, nowMs);
      components.remove(row, commit.path);
    }
    history.clearCursor(commit.path);
    removals.add(commit.path, commit.token, nowMs);
  }

  intend(intents: readonly Intent[], epoch: number): CommitResult[] {
    const { components } = this.#tables;
    return intents.map((intent) => {
      const row = components.find(splitPath(intent.path));
      const refused = this.#refuse(intent.path, intent.token, row, epoch);
      if (refused !== undefined) return refused;
      this.#addIntent(row ?? this.#createFor(intent), intent.token, intent);
      return COMMITTED;
    });
  }

  /** The token of a doubted run is not taken as a fence: the run was presumed dead and is older than whoever follows it. */
  doubt(intents: readonly Intent[]): void {
    const { components } = this.#tables;
    for (const intent of intents) {
      const row = components.find(splitPath(intent.path)) ?? this.#createFor(intent);
      const isOlder = compareTokens(intent.token, row.token) <= 0;
      this.#addIntent(row, isOlder ? intent.token : row.token, intent);
    }
  }

  /** An apply that is interrupted now is found by the next listing: the fingerprint is gone until a commit settles it. */
  #addIntent(row: PlacedRow, token: FencingToken, intent: Intent): void {
    this.#tables.components.addIntent(row.id, token, intent.rows);
    if (row.fingerprint !== '') this.#tables.components.write({ ...row, fingerprint: '' });
  }

  #createFor(intent: Intent): PlacedRow {
    const row = this.#tables.components.blank(splitPath(intent.path), intent.item !== undefined);
    this.#tables.components.write(row);
    return row;
  }
}

const valueText = ({ value }: Replace): string | undefined => (value === undefined ? undefined : JSON.stringify(value));
