// The index of about 5,000 real source files: first run, unchanged run, one file changed.
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Result, result } from '../report.ts';
import { openIndex } from './indexing.ts';
import { Local } from './local.ts';
import { copyFiles } from './tree-of-files.ts';

async function measure(files: string, home: string, paths: readonly string[], by: 'code' | 'text') {
  const assembly = await openIndex(files, home, by);
  const { stores, plan, sources } = assembly;
  const local = new Local({ state: stores.state, epoch: stores.epoch, plan, sources, slots: 64 });
  const first = await local.cycle('files');
  const unchanged = await local.cycle('files');
  appendFileSync(join(files, paths[0] ?? ''), `\n// changed for ${by}\n`);
  const oneFile = await local.cycle('files');
  const { reprocessed } = oneFile.ending.counts;
  if (reprocessed !== 1) throw new Error(`one file was changed, ${reprocessed} were reprocessed`);
  await assembly.close();
  return { firstS: first.tookMs / 1_000, unchangedS: unchanged.tookMs / 1_000, oneFileS: oneFile.tookMs / 1_000 };
}

const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
try {
  const files = join(folder, 'files');
  const paths = copyFiles(files);
  const text = await measure(files, folder, paths, 'text');
  const code = await measure(files, folder, paths, 'code');
  const results: Result[] = [
    result('index-files', paths.length, 'files'),
    result('index-first-s', code.firstS, 's'),
    result('index-unchanged-s', code.unchangedS, 's'),
    result('index-one-file-s', code.oneFileS, 's'),
    result('index-text-first-s', text.firstS, 's'),
  ];
  process.stdout.write(JSON.stringify(results));
} finally {
  rmSync(folder, { recursive: true });
}
