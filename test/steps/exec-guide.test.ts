// The program of docs/how-to/programs.md works as it stands there.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { contextOf, openHost, stepSpec } from './support.ts';

const guide = readFileSync(new URL('../../docs/how-to/programs.md', import.meta.url), 'utf8');
const block = (language: string): string => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? '';
const hasPython = spawnSync('python3', ['--version']).status === 0;

test.skipIf(!hasPython)('the step and the Python program of the guide turn text into capitals', async () => {
  const baseDir = mkdtempSync(join(tmpdir(), 'fairlead-guide-'));
  writeFileSync(join(baseDir, 'shout.py'), block('python'));
  const [spec] = parse(block('yaml')) as object[];
  const step = await openHost({ baseDir }).openStep(stepSpec(spec!));
  try {
    expect(await step.run([{ text: 'quiet' }], contextOf('a.txt'))).toEqual([{ text: 'QUIET' }]);
  } finally {
    await step.close();
  }
});
