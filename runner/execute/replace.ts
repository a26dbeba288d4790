// The commit that puts a component's new rows in place of its old ones, computed against the record that the state holds.
import type { FencingToken, Json } from '../protocol/index.ts';
import type { PendingCommit } from './commit.ts';
import { type RunMemo, vectorsIn } from './memo.ts';
import type { CompiledPlan } from './plan.ts';
import type { Commit, ComponentRecord, Intent, MemoChange, MemoEntry, RowChange, Target } from './ports.ts';
import { formerRows, packRows, planRows, type RowsOwner, type RowsPlan, vectorKeys } from './rows.ts';
import { partChanges } from './settle.ts';
import type { Exports } from './workplace.ts';

/** All that a finished component wants to have recorded. */
export interface Finished {
  readonly owner: RowsOwner;
  /** Set for an item's own component. */
  readonly item?: { readonly source: string; readonly key: string; readonly version: string };
  readonly settles?: string;
  readonly settlesSeq?: number;
  readonly fingerprint: string;
  readonly contentHash: string;
  readonly exports: Exports;
  readonly memo: RunMemo;
  readonly reprocess: boolean;
  readonly value?: Json;
}

interface TargetPlan extends RowsPlan {
  readonly target: Target;
}

/** Answers at once, unless vectors of rows that go are to be looked up first. */
export function replaceCommit(
  plan: CompiledPlan,
  finished: Finished,
  record: ComponentRecord | undefined,
  token: FencingToken,
): PendingCommit | Promise<PendingCommit> {
  const plans = plan.targets.flatMap((target) => planTarget(target, finished, record));
  if (plans.length === 0) {
    const memo = finished.memo.change(NO_KEYS, [], record?.memoised === true);
    return pendingCommit(finished, plans, memo, record, token);
  }
  const keepers = plans.filter(({ target }) => target.keepsVectors);
  const held = keepers.length === 0 ? NO_KEYS : new Set(keepers.flatMap(({ owned }) => vectorKeys(owned)));
  const retired = [...new Set(keepers.flatMap((planned) => planned.retired))].filter((key) => !held.has(key));
  const build = (retire: readonly MemoEntry[]): PendingCommit => {
    const memo = finished.memo.change(held, retire, record?.memoised === true);
    return pendingCommit(finished, plans, memo, record, token);
  };
  if (retired.length === 0) return build([]);
  return vectorsIn(
    keepers.map(({ target }) => target),
    retired,
  ).then(build);
}

function pendingCommit(
  finished: Finished,
  plans: readonly TargetPlan[],
  memo: MemoChange | undefined,
  record: ComponentRecord | undefined,
  token: FencingToken,
): PendingCommit {
  const { shared, outside } = partChanges(plans);
  const commit: { -readonly [K in keyof Replace]: Replace[K] } = {
    kind: 'replace',
    path: finished.owner.path,
    token,
    fingerprint: finished.fingerprint,
    contentHash: finished.contentHash,
    rows: packAll(plans),
    changes: shared,
  };
  if (record !== undefined) commit.base = record.token;
  if (finished.item !== undefined) commit.item = finished.item;
  if (finished.settles !== undefined) commit.settles = finished.settles;
  if (finished.settlesSeq !== undefined) commit.settlesSeq = finished.settlesSeq;
  if (memo !== undefined) commit.memo = memo;
  if (finished.value !== undefined) commit.value = finished.value;
  if (outside.length === 0) return { commit, outside };
  return { commit, outside, intent: intentOf(finished, plans, outside, token) };
}

type Replace = Extract<Commit, { readonly kind: 'replace' }>;

function planTarget(target: Target, finished: Finished, record: ComponentRecord | undefined): TargetPlan[] {
  const elements = finished.exports.get(target) ?? [];
  const former = formerRows(record, target);
  const isUntouched = elements.length === 0 && former.owned.length === 0 && former.doubtful === undefined;
  if (isUntouched && !(finished.reprocess && record !== undefined)) return [];
  return [{ target, ...planRows(finished.owner, elements, former, finished.reprocess && record !== undefined) }];
}

function packAll(plans: readonly TargetPlan[]): ReadonlyMap<string, Uint8Array> {
  const kept = plans.filter((plan) => plan.owned.length > 0);
  if (kept.length === 0) return NO_ROWS;
  return new Map(kept.map(({ target, owned }) => [target.name, packRows(target.identity, owned)]));
}

const NO_KEYS: ReadonlySet<string> = new Set();
const NO_ROWS: ReadonlyMap<string, Uint8Array> = new Map();

function intentOf(
  { owner, item }: Finished,
  plans: readonly TargetPlan[],
  outside: readonly { readonly target: Target; readonly change: RowChange }[],
  token: FencingToken,
): Intent {
  const concerned = new Set(outside.map(({ target }) => target));
  const rows = plans
    .filter(({ target }) => concerned.has(target))
    .map(({ target, owned }) => [target.name, packRows(target.identity, owned)] as const);
  return {
    path: owner.path,
    token,
    rows: new Map(rows),
    ...(item === undefined ? {} : { item: { source: item.source, key: item.key } }),
  };
}
