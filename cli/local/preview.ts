// What the next cycles would do, item by item, without writing anything: the same listing, comparison and guard as a cycle has.
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Assembly } from '../../runner/assemble/index.ts';
import { type ListedItem, planFingerprint, type SourcePlan, type Verdict } from '../../runner/execute/index.ts';
import { hiddenIn } from '../../runner/secrets.ts';
import { forPeople, openSourcesToLook, openToLook } from './assembly.ts';
import type { PipelineObjects } from './objects.ts';
import type { Environment } from './secrets.ts';

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

/** What the next cycle of each live source would do. Throws CommandError where a source cannot be listed. */
export async function preview(objects: PipelineObjects, environment: Environment): Promise<SourcePreview[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'fairlead-plan-'));
  try {
    copyRepositories(join(objects.folders.home, 'cache'), scratch);
    return await previewAll(objects, environment, scratch);
  } catch (error) {
    throw forPeople(error, objects.label);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function previewAll(objects: PipelineObjects, environment: Environment, cacheDir: string) {
  const assembly = await openToLook(objects, environment);
  const { sources, hide, close } = openSourcesToLook(objects, environment, cacheDir);
  try {
    const previews: SourcePreview[] = [];
    for (const [name, { source, deleteGuard }] of sources) {
      const list = source.list({ signal: new AbortController().signal });
      const isFirst = assembly === undefined;
      previews.push(await (isFirst ? previewFirst(name, list) : previewSource(assembly, name, list, deleteGuard)));
    }
    return previews;
  } catch (error) {
    throw hiddenIn(error, hide);
  } finally {
    await close();
    await assembly?.close();
  }
}

/** What was fetched from repositories elsewhere need not be fetched again; the originals may be in use. */
function copyRepositories(from: string, to: string): void {
  if (!existsSync(from)) return;
  for (const name of readdirSync(from))
    if (name.startsWith('git-')) cpSync(join(from, name), join(to, name), { recursive: true });
}

/** Compares one listing with the state. */
async function previewSource(
  assembly: Assembly,
  source: string,
  list: AsyncIterable<readonly ListedItem[]>,
  guard: SourcePlan['deleteGuard'],
): Promise<SourcePreview> {
  const { state } = assembly.stores;
  const fingerprint = fingerprintToBe(assembly);
  const items: PlannedItem[] = [];
  const seen = new Set<number>();
  let unchanged = 0;
  for await (const batch of list) {
    const compared = await state.compare(source, batch, fingerprint);
    for (const [at, { id, verdict }] of compared.entries()) {
      if (id > 0) seen.add(id);
      if (verdict === 'unchanged') unchanged++;
      else items.push({ key: batch[at]!.key, why: verdict });
    }
  }
  const removed = await removedKeys(assembly, source, seen);
  const { items: known } = await state.extent(source);
  const heldDeletes = isHeld(removed.length, known, guard);
  return {
    source,
    items: [...items, ...removed.map((key) => ({ key, why: 'removed' as const }))],
    unchanged,
    heldDeletes,
  };
}

/** Rows of a target that is to be made anew are written again: its identity will be another one. */
function fingerprintToBe({ plan, stores }: Assembly): string {
  const targets = plan.targets.map((target) =>
    stores.rebuilt.includes(target) ? Object.create(target, { identity: { value: 'to be made' } }) : target,
  );
  return planFingerprint({ ...plan, targets });
}

/** Everything that the listing names is new. */
async function previewFirst(source: string, list: AsyncIterable<readonly ListedItem[]>): Promise<SourcePreview> {
  const items: PlannedItem[] = [];
  for await (const batch of list) for (const { key } of batch) items.push({ key, why: 'new' });
  return { source, items, unchanged: 0, heldDeletes: false };
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
