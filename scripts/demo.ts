// The tour that `make demo` gives: an index of this repository, two questions, and what fairness is worth. All figures are measured as
// they are printed. `node scripts/demo.ts FOLDER` gives it in another git checkout with the same `examples/code-index`.
import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fewestHeldFirst, fifo } from '../operator/admission/index.ts';
import { type Measured, measureChange } from './demo/change.ts';
import { makeScratch } from './demo/scratch.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PIPELINE = 'examples/code-index';
const QUESTIONS = [
  'which branch of the tree gets the slot that was freed?',
  'what happens to rows when a listing did not end cleanly?',
];
/** Few enough that work has to wait, as it does on a cluster with 400,000 files and 1,024 slots. */
const SLOTS = 8;

const say = (text: string) => void process.stdout.write(`${text}\n`);
const heading = (text: string) => say(`\n── ${text} ${'─'.repeat(Math.max(0, 96 - text.length))}\n`);

/** Runs `fairlead` as a user would, and fails with it. */
function fairlead(...args: string[]): void {
  say(`$ fairlead ${args.map((arg) => (/[\s?]/.test(arg) ? `"${arg}"` : arg)).join(' ')}`);
  const { status } = spawnSync(process.execPath, [join(ROOT, 'cli/bin.mjs'), ...args], { stdio: 'inherit' });
  if (status !== 0) throw new Error(`fairlead ${args[0]} ended with ${status}`);
}

const seconds = (ms: number) => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);

function measuredText(rule: string, { searchableMs, doneItems, totalItems, reindexMs }: Measured): string {
  const part = `${Math.round((100 * doneItems) / totalItems)} %`;
  return [
    `  ${rule.padEnd(20)}the change was searchable after ${seconds(searchableMs).padStart(7)},`,
    `with ${part.padStart(5)} of the re-index done (${doneItems} of ${totalItems}); the re-index took ${seconds(reindexMs)}`,
  ].join(' ');
}

function printAll(): void {
  heading('1. Index this repository');
  fairlead('dev', '-f', PIPELINE);
  heading('2. Ask two questions');
  for (const question of QUESTIONS) fairlead('query', question, '-f', PIPELINE, '-k', '2');
}

async function printPoint(): Promise<void> {
  heading('3. The point: one file changes while everything is processed again');
  const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0').filter(Boolean);
  const scratch = makeScratch(files, PIPELINE);
  try {
    say(
      `A copy of ${files.length} files, ${SLOTS} slots. Everything is reprocessed; after a tenth of it, one file is saved.\n`,
    );
    for (const rule of [fewestHeldFirst, fifo]) {
      const measured = await measureChange({ scratch, rule, slots: SLOTS });
      say(measuredText(rule === fifo ? 'first come first' : 'fewest held first', measured));
    }
  } finally {
    rmSync(scratch.folder, { recursive: true, force: true });
  }
  say(
    [
      '\nNext: watch it work. The first command prints the address of the dashboard and stays; the others go into a second terminal.\n',
      '  npx fairlead dev -f examples/code-index --watch',
      '  npx fairlead reprocess     # something to look at',
      '  npx fairlead trace         # where the time of the last update went',
      '\nOr `npx fairlead init` in a folder of yours.',
    ].join('\n'),
  );
}

process.chdir(process.argv[2] ?? ROOT);
const startedAtMs = performance.now();
printAll();
await printPoint();
say(`\nThe demo took ${seconds(performance.now() - startedAtMs)}.`);
