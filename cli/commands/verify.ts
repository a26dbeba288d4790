// `fairlead verify`: compares state and target, both ways, and mends what differs.
import type { Command } from 'commander';
import { openToLook } from '../local/assembly.ts';
import { type Audit, auditTargets, type Difference } from '../local/audit.ts';
import { workOn } from '../local/hand-over.ts';
import { loadPipelines, type PipelineObjects } from '../local/objects.ts';
import { addFiles, addOutput, type FileOptions } from '../local/options.ts';
import { SILENT } from '../local/report.ts';
import { setExit, surroundings } from '../local/session.ts';

interface Options extends FileOptions {
  readonly repair?: boolean;
}

export function configure(command: Command): void {
  command.description(
    'Compare the state with the targets, both ways: rows that a target lacks, and rows that the state does not know. Exit code 1: there are differences.',
  );
  addOutput(addFiles(command))
    .option('--repair', 'process items whose rows differ again, and remove rows that no item owns')
    .action(run);
}

async function run({ file, output, repair }: Options): Promise<void> {
  const objects = await loadPipelines(file, surroundings());
  const results: Result[] = [];
  for (const one of objects) results.push(repair === true ? await repairOne(one) : await look(one));
  process.stdout.write(output === 'json' ? `${JSON.stringify({ results })}\n` : results.map(resultText).join(''));
  setExit(results.every(({ missing, surplus }) => missing + surplus === 0) ? 'ok' : 'failed');
}

/** What was found; after a repair, what is left. */
interface Result extends Pick<Audit, 'rows' | 'missing' | 'surplus'> {
  readonly pipeline: string;
  readonly differences: readonly Difference[];
  /** Components that were mended. */
  readonly repaired?: number;
}

const resultOf = (pipeline: string, { rows, missing, surplus, differences }: Audit): Result => ({
  pipeline,
  rows,
  missing,
  surplus,
  differences,
});

async function look(objects: PipelineObjects): Promise<Result> {
  const assembly = await openToLook(objects, process.env);
  if (assembly === undefined) return { pipeline: objects.label, rows: 0, missing: 0, surplus: 0, differences: [] };
  try {
    return resultOf(objects.label, await auditTargets(assembly));
  } finally {
    await assembly.close();
  }
}

async function repairOne(objects: PipelineObjects): Promise<Result> {
  const [result] = await workOn([objects], () => ({ do: 'repair' }), SILENT);
  return { pipeline: objects.label, ...result!.repaired! };
}

function resultText({ pipeline, rows, missing, surplus, differences, repaired }: Result): string {
  const lines = differences.map(({ target, kind, row, source, key }) => {
    const what = kind === 'missing' ? 'is missing' : 'is not known to the state';
    return `${target}: row ${row} of ${source}/${key} ${what}\n`;
  });
  const rest = missing + surplus - differences.length;
  const more = rest > 0 ? `… and ${rest} more\n` : '';
  const mended = repaired === undefined ? '' : `; ${repaired} components were mended`;
  return `${lines.join('')}${more}${pipeline}: ${rows} rows, ${missing} missing, ${surplus} surplus${mended}\n`;
}
