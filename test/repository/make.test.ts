// The Makefile's promise: whoever calls it alone sees every target, each with a line of what it does.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('`make` alone names every target, each with a line', () => {
  const printed = execFileSync('make', { encoding: 'utf8' });
  const named = [...printed.matchAll(/^ {2}make (\S+) +\S+/gm)].map(([, target]) => target);
  const written = [...readFileSync('Makefile', 'utf8').matchAll(/^([a-z0-9-]+):/gm)].map(([, target]) => target);
  expect(named).toEqual(written);
  expect(named).toEqual(
    expect.arrayContaining(['demo', 'test', 'verify', 'bench', 'postgres', 'test-cluster', 'e2e', 'images']),
  );
});
