// The Makefile's promises: it names every target, and a part that is not built fails and says so.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const TARGETS = ['demo', 'test', 'verify', 'generate', 'bench', 'test-cluster', 'e2e', 'images', 'help'];

test('`make` alone names every target with a line', () => {
  const printed = execFileSync('make', { encoding: 'utf8' });
  for (const target of TARGETS) expect(printed).toMatch(new RegExp(`^ {2}make ${target} +\\S+`, 'm'));
});

test('a target whose part is not built yet fails and says so', () => {
  const unbuilt = [...readFileSync('Makefile', 'utf8').matchAll(/^([\w-]+):[^\n]*\n\t\$\(call not-built/gm)];
  for (const [, target] of unbuilt) {
    const run = spawnSync('make', ['-o', 'node_modules/.installed', target!], { encoding: 'utf8' });
    expect(run.status, target).not.toBe(0);
    expect(run.stderr).toContain(`make ${target} is not built yet`);
  }
});
