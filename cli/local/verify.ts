// State and targets of the Pipelines in files, compared and mended.
import { auditTargets } from '../../runner/execute/index.ts';
import type { Repaired, Verified } from '../../runner/protocol/index.ts';
import { openToLook } from './assembly.ts';
import { workOn } from './hand-over.ts';
import { loadPipelines, type PipelineObjects } from './objects.ts';
import { SILENT } from './report.ts';
import { surroundings } from './session.ts';

/** What was found in each; after a repair, what is left. */
export async function verifyFiles(
  file: readonly string[] | undefined,
  repair: boolean,
): Promise<{ readonly label: string; readonly found: Verified | Repaired }[]> {
  const all: { label: string; found: Verified | Repaired }[] = [];
  for (const one of await loadPipelines(file, surroundings()))
    all.push({ label: one.label, found: repair ? await repaired(one) : await verified(one) });
  return all;
}

async function verified(objects: PipelineObjects): Promise<Verified> {
  const assembly = await openToLook(objects, process.env);
  if (assembly === undefined) return { rows: 0, missing: 0, surplus: 0, differences: [] };
  try {
    return (await auditTargets(assembly.stores)).found;
  } finally {
    await assembly.close();
  }
}

async function repaired(objects: PipelineObjects): Promise<Repaired> {
  const [result] = await workOn([objects], () => ({ do: 'repair' }), SILENT);
  return result!.repaired!;
}
