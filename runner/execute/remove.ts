// Removes a component: first all components below it, each by a run of its own (A10), then its rows, then its record. A removal that fails
// leaves the record, so that the next listing finds the item missing again (F35, F40).
import { type FencingToken, NO_COUNTS, type RunOutcome } from '../protocol/index.ts';
import type { Attempts } from './attempts.ts';
import type { PendingCommit } from './commit.ts';
import { vectorsIn } from './memo.ts';
import { deleteChildren } from './nested.ts';
import type { ComponentRecord, ComponentRef, MemoEntry, Opened, Target } from './ports.ts';
import { formerRows, packRows, vectorKeys } from './rows.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { type BuildCommit, baseOf, partChanges, settle } from './settle.ts';

export interface Removal {
  readonly ref: ComponentRef;
  readonly opened: Opened;
  /** Update whose work entry the removal settles. */
  readonly settles?: string;
  /** Number of that entry, where it is known. */
  readonly settlesSeq?: number;
  /** Everything is being dropped: vectors of the rows are not kept for a later return. */
  readonly isDrop: boolean;
}

/** Counts an item as deleted if there was anything of it. */
export async function removeComponent(
  run: Run,
  services: Services,
  attempts: Attempts,
  removal: Removal,
): Promise<RunOutcome> {
  const { ref, opened } = removal;
  await deleteChildren(run, services, ref, () => true);
  const isKnown = opened.component !== undefined || opened.item !== undefined;
  const deleted = ref.item !== undefined && isKnown ? 1 : 0;
  const build: BuildCommit = (now, token) => removeCommit(services, removal, now.component, token);
  const removed: RunOutcome = { kind: 'done', counts: { ...NO_COUNTS, deleted } };
  return settle(run, services, attempts, ref, opened, build, removed);
}

async function removeCommit(
  services: Services,
  { ref, settles, settlesSeq, isDrop }: Removal,
  record: ComponentRecord | undefined,
  token: FencingToken,
): Promise<PendingCommit> {
  const holders = services.plan.targets.filter((target) => holdsRows(record, target));
  const change = { owner: ref.path, upserts: [], touches: [], deletes: [], deleteAll: true };
  const { shared, outside } = partChanges(holders.map((target) => ({ target, change })));
  const retire = isDrop ? [] : await vectorsOf(record, holders);
  return {
    commit: {
      kind: 'remove',
      path: ref.path,
      token,
      ...baseOf(record),
      changes: shared,
      ...(ref.item === undefined ? {} : { item: { ...ref.item, version: '' } }),
      ...(settles === undefined ? {} : { settles }),
      ...(settlesSeq === undefined ? {} : { settlesSeq }),
      ...(retire.length === 0 ? {} : { memo: { put: [], uses: [], drop: [], retire } }),
    },
    outside,
    ...(outside.length === 0
      ? {}
      : { intent: { ...ref, token, rows: emptyRows(outside.map(({ target }) => target)) } }),
  };
}

function holdsRows(record: ComponentRecord | undefined, target: Target): boolean {
  return record !== undefined && (record.rows.has(target.name) || record.intended.has(target.name));
}

function emptyRows(targets: readonly Target[]): ReadonlyMap<string, Uint8Array> {
  return new Map(targets.map((target) => [target.name, packRows(target.identity, [])]));
}

async function vectorsOf(record: ComponentRecord | undefined, targets: readonly Target[]): Promise<MemoEntry[]> {
  const keepers = targets.filter((target) => target.keepsVectors);
  const keys = new Set(keepers.flatMap((target) => vectorKeys(formerRows(record, target).owned)));
  return keys.size === 0 ? [] : vectorsIn(keepers, [...keys]);
}
