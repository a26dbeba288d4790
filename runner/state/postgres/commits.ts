// Commits of the shared state, in bulk: what SQLite does row by row is one statement for each table here. What is decided (fencing, what a
// record becomes) is decided by the same functions.
//   C4. A commit holds a shared lock on the epoch: a leader that claims a newer one waits for it, and nothing older is written afterwards.
//   C5. Records are locked before they are looked at; a record that appears meanwhile makes the transaction start again.
import { binary, type PostgresLodger, type Queryable, TryAgain } from '../../database/index.ts';
import type { Commit, CommitResult, Intent, MemoChange, RowChange } from '../../execute/index.ts';
import { compareTokens, type FencingToken } from '../../protocol/index.ts';
import { distinctRuns } from '../batches.ts';
import { COMMITTED, isMoved, MOVED, refuse } from '../fencing.ts';
import { splitPath } from '../names.ts';
import type { Settled } from '../offers.ts';
import { packRows } from '../packed.ts';
import { blankRow, hasSucceeded, isBlank, REMOVAL_KEPT_MS, rowAfter } from '../records.ts';
import { Components, type Holding, type PlacedRow, type StoredIntent } from './components.ts';
import { MemoTable } from './memo.ts';
import type { StateTables } from './schema.ts';
import { WorkList } from './work.ts';

/** A transaction that may write: its connection, the newest epoch, and its time. */
export interface Writing {
  readonly on: Queryable;
  readonly epoch: number;
  readonly nowMs: number;
}

type Lodgers = ReadonlyMap<string, PostgresLodger<RowChange>>;

/** What stands in the way of writing to a path, and what is there. */
interface Standing {
  readonly row: PlacedRow | undefined;
  readonly fences: readonly FencingToken[];
}

export class Commits {
  readonly #writing: Writing;
  readonly #tables: StateTables;
  readonly #components: Components;
  readonly #memo: MemoTable;

  constructor(writing: Writing, tables: StateTables) {
    this.#writing = writing;
    this.#tables = tables;
    this.#components = new Components(writing.on, tables);
    this.#memo = new MemoTable(writing.on, tables);
  }

  async commit(group: readonly Commit[], lodgers: Lodgers): Promise<CommitResult[]> {
    const results: CommitResult[] = [];
    const accepted: Commit[] = [];
    for (const run of distinctRuns(group, ({ path }) => path)) {
      const decided = await this.#decide(run);
      await this.#write(decided.accepted);
      results.push(...decided.results);
      accepted.push(...decided.accepted.map(({ commit }) => commit));
    }
    await this.#applyShared(accepted, lodgers);
    return results;
  }

  async #decide(commits: readonly Commit[]) {
    const standings = await this.#standings(commits.map(({ path }) => path));
    const accepted: { commit: Commit; row: PlacedRow | undefined }[] = [];
    const results = commits.map((commit) => {
      const { row, fences } = standings(commit.path);
      const standing = { epoch: this.#writing.epoch, recorded: row?.token, others: fences };
      const refused = refuse(commit.token, standing);
      if (refused !== undefined) return refused;
      if (isMoved(commit, row && { token: row.token, hasSucceeded: hasSucceeded(row) })) return MOVED;
      accepted.push({ commit, row });
      return COMMITTED;
    });
    return { accepted, results };
  }

  async #standings(paths: readonly string[]): Promise<(path: string) => Standing> {
    const rows = await this.#components.lock(paths);
    const intents = Map.groupBy(
      await this.#components.intents([...rows.values()].map(({ id }) => id)),
      ({ component }) => component,
    );
    const removals = await this.#removals(paths.filter((path) => isBlank(rows.get(path))));
    return (path) => {
      const row = rows.get(path);
      const tokens = row === undefined ? [] : (intents.get(row.id) ?? []).map(({ token }) => token);
      const removal = removals.get(path);
      return { row, fences: removal === undefined ? tokens : [...tokens, removal] };
    };
  }

  async #removals(paths: readonly string[]): Promise<Map<string, FencingToken>> {
    if (paths.length === 0) return new Map();
    const rows = await this.#writing.on.rows<[string, number, number, number]>(
      `SELECT path, epoch, run, attempt FROM ${this.#tables.table('removed')} WHERE path = ANY($1::text[])`,
      [binary.texts(paths)],
    );
    return new Map(rows.map(([path, epoch, run, attempt]) => [path, { epoch, run, attempt }]));
  }

  async #write(accepted: readonly { readonly commit: Commit; readonly row: PlacedRow | undefined }[]): Promise<void> {
    if (accepted.length === 0) return;
    const { nowMs } = this.#writing;
    const written = await this.#writtenRows(accepted);
    const removed = accepted.flatMap(({ commit, row }) => (commit.kind === 'remove' ? [{ commit, row }] : []));
    await this.#changeMemo([...written, ...removed], nowMs);
    await this.#writeRows(written, nowMs);
    await this.#remove(removed, nowMs);
    const blank = written.filter(({ before }) => isBlank(before)).map(({ commit }) => commit.path);
    await this.#forgetRemovals(blank);
    await this.#settle(accepted.map(({ commit }) => commit));
  }

  /** Rows that stay, with new ones for components that had none; a nested component that failed before it succeeded gets none. */
  async #writtenRows(accepted: readonly { readonly commit: Commit; readonly row: PlacedRow | undefined }[]) {
    const staying = accepted.flatMap(({ commit, row }) => {
      if (commit.kind === 'remove' || (commit.kind === 'fail' && row === undefined && commit.item === undefined))
        return [];
      return [{ commit, before: row }];
    });
    const ids = await this.#components.takeIds(staying.filter(({ before }) => before === undefined).length);
    return staying.map(({ commit, before }) => ({
      commit,
      before,
      row: before ?? newRow(commit, ids.shift() as number),
    }));
  }

  async #writeRows(
    written: readonly {
      readonly commit: Exclude<Commit, { kind: 'remove' }>;
      readonly before: PlacedRow | undefined;
      readonly row: PlacedRow;
    }[],
    nowMs: number,
  ): Promise<void> {
    const after = written.map(({ commit, before, row }) => ({
      isNew: before === undefined,
      row: { ...rowAfter(commit, row, nowMs), memoised: memoisedAfter(commit, row) },
    }));
    const created = after.filter(({ isNew }) => isNew).map(({ row }) => row);
    if ((await this.#components.insert(created)) < created.length) throw new TryAgain('a component appeared meanwhile');
    await this.#components.update(after.filter(({ isNew }) => !isNew).map(({ row }) => row));
    const holdings = written.flatMap(({ commit, before, row }) => holdingOf(commit, before, row));
    await this.#components.hold(holdings);
    const settled = written.filter(({ commit, before }) => commit.kind === 'replace' && before !== undefined);
    await this.#components.clearIntents(settled.map(({ row }) => row.id));
  }

  async #changeMemo(
    changed: readonly { readonly commit: Commit; readonly row: PlacedRow | undefined }[],
    nowMs: number,
  ): Promise<void> {
    const memos = changed.flatMap(({ commit, row }) => {
      const change = memoOf(commit);
      return row === undefined || change === undefined
        ? []
        : [{ component: row.id, change, wasMemoised: row.memoised }];
    });
    await this.#memo.retireAll(
      memos.filter(({ wasMemoised }) => wasMemoised).map(({ component }) => component),
      nowMs,
    );
    await this.#memo.change(memos, nowMs);
  }

  async #remove(
    removed: readonly { readonly commit: Commit; readonly row: PlacedRow | undefined }[],
    nowMs: number,
  ): Promise<void> {
    if (removed.length === 0) return;
    const { on } = this.#writing;
    const ids = removed.flatMap(({ row }) => (row === undefined ? [] : [row.id]));
    await this.#components.remove(ids);
    await this.#components.clearIntents(ids);
    const commits = removed.map(({ commit }) => commit);
    const paths = binary.texts(commits.map(({ path }) => path));
    await on.run(`DELETE FROM ${this.#tables.table('cursors')} WHERE path = ANY($1::text[])`, [paths]);
    await on.run(
      `INSERT INTO ${this.#tables.table('removed')}(path, epoch, run, attempt, removed_at)
       SELECT path, epoch, run, attempt, $5::float8 FROM unnest($1::text[], $2::int8[], $3::int8[], $4::int4[]) AS n(path, epoch, run, attempt)
       ON CONFLICT (path) DO UPDATE SET epoch = excluded.epoch, run = excluded.run, attempt = excluded.attempt, removed_at = excluded.removed_at`,
      [paths, ...tokenArrays(commits.map(({ token }) => token)), nowMs],
    );
    await on.run(`DELETE FROM ${this.#tables.table('removed')} WHERE removed_at < $1::float8`, [
      nowMs - REMOVAL_KEPT_MS,
    ]);
  }

  async #forgetRemovals(paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return;
    await this.#writing.on.run(`DELETE FROM ${this.#tables.table('removed')} WHERE path = ANY($1::text[])`, [
      binary.texts(paths),
    ]);
  }

  async #settle(commits: readonly Commit[]): Promise<void> {
    const settling = commits.filter(({ settles }) => settles !== undefined) as readonly Settled[];
    await new WorkList(this.#writing.on, this.#tables).settle(settling);
  }

  async #applyShared(commits: readonly Commit[], lodgers: Lodgers): Promise<void> {
    const byTarget = new Map<string, RowChange[]>();
    for (const commit of commits) {
      if (commit.kind !== 'replace' && commit.kind !== 'remove') continue;
      for (const [target, change] of commit.changes) {
        const list = byTarget.get(target);
        if (list === undefined) byTarget.set(target, [change]);
        else list.push(change);
      }
    }
    for (const [target, changes] of byTarget) {
      const lodger = lodgers.get(target);
      if (lodger === undefined) throw new Error(`target ${target} does not live in the state's database`);
      await lodger.applyIn(this.#writing.on, changes);
    }
  }

  async intend(intents: readonly Intent[]): Promise<CommitResult[]> {
    const results: CommitResult[] = [];
    for (const run of distinctRuns(intents, ({ path }) => path)) {
      const standings = await this.#standings(run.map(({ path }) => path));
      const refusals = run.map(({ path, token }) => {
        const { row, fences } = standings(path);
        return refuse(token, { epoch: this.#writing.epoch, recorded: row?.token, others: fences });
      });
      const accepted = run.filter((_, index) => refusals[index] === undefined);
      await this.#addIntents(accepted, (path) => standings(path).row);
      results.push(...refusals.map((refused) => refused ?? COMMITTED));
    }
    return results;
  }

  /** The token of a doubted run is not taken as a fence: the run was presumed dead and is older than whoever follows it. */
  async doubt(intents: readonly Intent[]): Promise<void> {
    for (const run of distinctRuns(intents, ({ path }) => path)) {
      const rows = await this.#components.lock(run.map(({ path }) => path));
      const capped = run.map((intent) => {
        const recorded = rows.get(intent.path)?.token ?? NO_TOKEN;
        return compareTokens(intent.token, recorded) <= 0 ? intent : { ...intent, token: recorded };
      });
      await this.#addIntents(capped, (path) => rows.get(path));
    }
  }

  /** An apply that is interrupted now is found by the next listing: the fingerprint is gone until a commit settles it. */
  async #addIntents(intents: readonly Intent[], rowOf: (path: string) => PlacedRow | undefined): Promise<void> {
    const fresh = intents.filter(({ path }) => rowOf(path) === undefined);
    const ids = await this.#components.takeIds(fresh.length);
    const created = new Map(fresh.map((intent, index) => [intent.path, newRow(intent, ids[index] as number)]));
    if ((await this.#components.insert([...created.values()])) < created.size)
      throw new TryAgain('a component appeared meanwhile');
    const known = intents.flatMap(({ path }) => rowOf(path) ?? []).filter(({ fingerprint }) => fingerprint !== '');
    await this.#components.update(known.map((row) => ({ ...row, fingerprint: '' })));
    const stored = intents.map(({ path, token, rows }): StoredIntent => {
      const row = (rowOf(path) ?? created.get(path)) as PlacedRow;
      return { component: row.id, token, rows: packRows(rows) ?? new Uint8Array() };
    });
    await this.#components.addIntents(stored);
  }
}

const NO_TOKEN: FencingToken = { epoch: 0, run: 0, attempt: 0 };
const NO_MEMO: MemoChange = { put: [], uses: [], drop: [], retire: [] };

function newRow({ path, item }: { readonly path: string; readonly item?: unknown }, id: number): PlacedRow {
  const { parent, segment } = splitPath(path);
  return { ...blankRow(id, segment, item !== undefined), parent };
}

/** A removed component keeps no entry in use. */
function memoOf(commit: Commit): MemoChange | undefined {
  if (commit.kind === 'replace') return commit.memo;
  if (commit.kind === 'remove') return commit.memo === undefined ? NO_MEMO : { ...commit.memo, put: [], uses: [] };
  return undefined;
}

function memoisedAfter(commit: Commit, row: PlacedRow): boolean {
  if (commit.kind !== 'replace' || commit.memo === undefined) return row.memoised;
  return commit.memo.put.length > 0 || commit.memo.uses.length > 0;
}

function holdingOf(commit: Commit, before: PlacedRow | undefined, row: PlacedRow): Holding[] {
  if (commit.kind !== 'replace') return [];
  const value = commit.value === undefined ? undefined : JSON.stringify(commit.value);
  const isBare = commit.rows.size === 0 && value === undefined;
  return isBare && before === undefined ? [] : [{ component: row.id, rows: commit.rows, value }];
}

function tokenArrays(tokens: readonly FencingToken[]): Buffer[] {
  return [
    binary.bigints(tokens.map(({ epoch }) => epoch)),
    binary.bigints(tokens.map(({ run }) => run)),
    binary.ints(tokens.map(({ attempt }) => attempt)),
  ];
}
