// `fairlead verify`: compares state and target, both ways, and mends what differs.
import type { Command } from 'commander';
import type { Repaired, Verified } from '../../runner/protocol/index.ts';
import { setExit } from '../exit.ts';
import { labelOf } from '../label.ts';
import { addFiles } from '../local/options.ts';
import { print } from '../output.ts';
import { type AskedOptions, asksOperator } from '../remote/asked.ts';
import { addRemote, partsOf } from '../remote/session.ts';
import { verifyRemotely } from '../remote/verify.ts';

interface Options extends AskedOptions {
  readonly repair?: boolean;
}

export function configure(command: Command): void {
  command.description(
    'Compare the state with the targets, both ways: rows that a target lacks, and rows that the state does not know. With files they are read here; an operator has its runners look. Exit code 1: there are differences.',
  );
  addRemote(addFiles(command))
    .option('--repair', 'process items whose rows differ again, and remove rows that no item owns')
    .action(run);
}

async function run(options: Options): Promise<void> {
  const results = asksOperator(options) ? await ask(options) : await ofFiles(options);
  await print(options.output, { results }, () => results.map(resultText).join(''));
  setExit(results.every(({ missing, surplus }) => missing + surplus === 0) ? 'ok' : 'failed');
}

/** What was found; after a repair, what is left. */
interface Result extends Verified, Partial<Pick<Repaired, 'repaired'>> {
  readonly pipeline: string;
}

/** The runners of an operator look. */
async function ask(options: Options): Promise<Result[]> {
  const all = await verifyRemotely(options);
  return all.map(({ name, found }) => ({ pipeline: labelOf(partsOf(name)), ...found }));
}

async function ofFiles({ file, repair }: Options): Promise<Result[]> {
  const { verifyFiles } = await import('../local/verify.ts');
  return (await verifyFiles(file, repair === true)).map(({ label, found }) => ({ pipeline: label, ...found }));
}

function resultText({ pipeline, rows, missing, surplus, differences, repaired }: Result): string {
  const lines = differences.map(({ target, kind, row, source, key }) => {
    const what = kind === 'missing' ? 'is missing' : 'is not known to the state';
    return `${target}: row ${row} of ${source}/${key} ${what}\n`;
  });
  const rest = missing + surplus - differences.length;
  const more = rest > 0 ? `… and ${rest} more\n` : '';
  const mended =
    repaired === undefined ? '' : `; ${repaired} ${repaired === 1 ? 'component was' : 'components were'} mended`;
  return `${lines.join('')}${more}${pipeline}: ${rows} rows, ${missing} missing, ${surplus} surplus${mended}\n`;
}
