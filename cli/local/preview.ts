// What the next cycles would do, item by item, without writing anything: the same listing, comparison and guard as a cycle has.
import { existsSync } from 'node:fs';
import type { Assembly } from '../../runner/assemble/index.ts';
import { stateFile } from '../../runner/assemble/index.ts';
import { type ListedItem, planFingerprint, type SourcePlan, type Verdict } from '../../runner/execute/index.ts';
import type { PipelineObjects } from './objects.ts';

const PAGE = 1_000;

/** Why an item would be run, or deleted. */
export type Why = Exclude<Verdict, 'unchanged'> | 'removed';

export interface PlannedItem {
  readonly key: string;
  readonly why: Why;
}

/** What a cycle of one live source would do. */
export interface SourcePreview {
  readonly source: string;
  readonly items: readonly PlannedItem[];
  readonly unchanged: number;
  /** Items that are gone and that deleteGuard would keep until there is consent. */
  readonly heldDeletes: boolean;
}

/** Whether a Pipeline has a state already; without one everything is new. */
export function hasState({ pipeline, label, folders }: PipelineObjects): boolean {
  const { spec } = pipeline.value;
  return spec.state.sqlite === undefined || existsSync(stateFile(spec, label, folders));
}

/** Compares one listing with the state. */
export async function previewSource(assembly: Assembly, name: string, source: SourcePlan): Promise<SourcePreview> {
  const { state } = assembly.stores;
  const fingerprint = planFingerprint(assembly.plan);
  const items: PlannedItem[] = [];
  const seen = new Set<number>();
  let unchanged = 0;
  for await (const batch of source.source.list({ signal: new AbortController().signal })) {
    const compared = await state.compare(name, batch, fingerprint);
    for (const [at, { id, verdict }] of compared.entries()) {
      if (id > 0) seen.add(id);
      if (verdict === 'unchanged') unchanged++;
      else items.push({ key: batch[at]!.key, why: verdict });
    }
  }
  const removed = await removedKeys(assembly, name, seen);
  const { items: known } = await state.extent(name);
  const heldDeletes = isHeld(removed.length, known, source.deleteGuard);
  return {
    source: name,
    items: [...items, ...removed.map((key) => ({ key, why: 'removed' as const }))],
    unchanged,
    heldDeletes,
  };
}

/** Everything that the listing names is new. */
export async function previewFirst(name: string, list: AsyncIterable<readonly ListedItem[]>): Promise<SourcePreview> {
  const items: PlannedItem[] = [];
  for await (const batch of list) for (const { key } of batch) items.push({ key, why: 'new' });
  return { source: name, items, unchanged: 0, heldDeletes: false };
}

async function removedKeys({ stores }: Assembly, source: string, seen: ReadonlySet<number>): Promise<string[]> {
  const removed: string[] = [];
  for (let after = 0; ; ) {
    const page = await stores.state.scanKeys(source, after, PAGE);
    for (const { id, key } of page) if (!seen.has(id)) removed.push(key);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return removed;
    after = last.id;
  }
}

function isHeld(missing: number, known: number, guard: SourcePlan['deleteGuard']): boolean {
  return missing > guard.minItems && missing * 100 > known * guard.maxPercent;
}
