// `make demo`, whole, on a small checkout: real processes, real git, a real index.
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'fairlead-demo-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function checkout(parts: readonly string[]): void {
  // Not the index that an earlier demo may have left beside the example.
  const filter = (path: string) => basename(path) !== '.fairlead';
  for (const part of parts) cpSync(join(ROOT, part), join(folder, part), { recursive: true, filter });
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder });
  git('init', '--quiet');
  git('add', '.');
  git('-c', 'user.name=demo', '-c', 'user.email=demo@localhost', 'commit', '--quiet', '-m', 'The code');
}

test('the demo indexes a checkout, answers two questions with their places, and shows a change under both rules', {
  timeout: 300_000,
}, async () => {
  checkout(['examples/code-index', 'operator/admission', 'operator/cards', 'docs/fairness.md']);
  const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/demo.ts'), folder]);
  expect(stdout).toMatch(/[1-9]\d* added/);
  expect(stdout).toMatch(/operator\/admission\/\w+\.ts:\d+/);
  for (const rule of ['fewest held first', 'first come first'])
    expect(stdout).toMatch(
      new RegExp(`${rule} +the change was searchable after +[\\d.]+ m?s, with +\\d+ % of the re-index done`),
    );
  expect(stdout).toMatch(/The demo took/);
});
