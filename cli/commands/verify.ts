// `fairlead verify`: compares state and target, both ways, and mends what differs.
import type { Command } from 'commander';
import { CommandError } from '../exit.ts';
import { openToLook } from '../local/assembly.ts';
import { type Audit, auditTargets, type Difference } from '../local/audit.ts';
import { workOn } from '../local/hand-over.ts';
import { hasFiles, loadPipelines, type PipelineObjects } from '../local/objects.ts';
import { addFiles } from '../local/options.ts';
import { SILENT } from '../local/report.ts';
import { setExit, surroundings } from '../local/session.ts';
import { type AskedOptions, asksOperator } from '../remote/asked.ts';
import { addRemote, print } from '../remote/session.ts';

interface Options extends AskedOptions {
  readonly repair?: boolean;
}

export function configure(command: Command): void {
  command.description(
    'Compare the state with the targets, both ways: rows that a target lacks, and rows that the state does not know. Exit code 1: there are differences.',
  );
  addRemote(addFiles(command))
    .option('--repair', 'process items whose rows differ again, and remove rows that no item owns')
    .action(run);
}

async function run(options: Options): Promise<void> {
  if (options.file === undefined && asksOperator(options) && !hasFiles(surroundings()))
    throw new CommandError(NEEDS_FILES, 'usage');
  const { file, output, repair } = options;
  const objects = await loadPipelines(file, surroundings());
  const results: Result[] = [];
  for (const one of objects) results.push(repair === true ? await repairOne(one) : await look(one));
  print(output, { results }, () => results.map(resultText).join(''));
  setExit(results.every(({ missing, surplus }) => missing + surplus === 0) ? 'ok' : 'failed');
}

/** An operator reaches neither state nor targets: only its runners do, and whoever has the addresses. */
const NEEDS_FILES =
  'verify reads state and targets itself: give it the files with -f, where both are reached. For a Pipeline in a cluster: ' +
  'kubectl get pipeline NAME -o yaml > pipeline.yaml, forward the database, put its address into the variable that fairlead verify -f pipeline.yaml names';

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
