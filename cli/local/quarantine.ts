// Items of the Pipelines in files that are left alone or failed, from their state; and letting them run again.
import { troubledPage } from '../../runner/execute/index.ts';
import { FIRST_TROUBLED, type TroubledItem, type TroubledPage } from '../../runner/protocol/index.ts';
import { CommandError } from '../exit.ts';
import { openToLook } from './assembly.ts';
import { workOn } from './hand-over.ts';
import { loadPipelines, type PipelineObjects } from './objects.ts';
import { SILENT } from './report.ts';
import { surroundings } from './session.ts';
import type { Work } from './work.ts';

export async function troubledOfFiles(
  file: readonly string[] | undefined,
): Promise<{ readonly label: string; readonly items: readonly TroubledItem[] }[]> {
  const all: { label: string; items: readonly TroubledItem[] }[] = [];
  for (const one of await loadPipelines(file, surroundings()))
    all.push({ label: one.label, items: await troubled(one) });
  return all;
}

async function troubled(objects: PipelineObjects): Promise<TroubledItem[]> {
  const assembly = await openToLook(objects, process.env);
  if (assembly === undefined) return [];
  try {
    const items: TroubledItem[] = [];
    for (let place: TroubledPage['next'] = FIRST_TROUBLED; place !== undefined; ) {
      const page: TroubledPage = await troubledPage(assembly.stores.state, place);
      items.push(...page.items);
      place = page.next;
    }
    return items;
  } finally {
    await assembly.close();
  }
}

/** Answers how many there were. `keys`: only these. */
export async function releaseOfFiles(file: readonly string[] | undefined, keys: readonly string[]): Promise<number> {
  const work: Work = { do: 'release', ...(keys.length > 0 && { keys: [...keys] }) };
  const indexed: PipelineObjects[] = [];
  for (const one of await loadPipelines(file, surroundings())) if (await isIndexed(one)) indexed.push(one);
  const results = await workOn(indexed, () => work, SILENT);
  const released = results.reduce((sum, result) => sum + (result.released ?? 0), 0);
  if (keys.length > 0 && released === 0)
    throw new CommandError(`none of these items is quarantined: ${keys.join(', ')}`);
  return released;
}

async function isIndexed(objects: PipelineObjects): Promise<boolean> {
  const assembly = await openToLook(objects, process.env);
  await assembly?.close();
  return assembly !== undefined;
}
