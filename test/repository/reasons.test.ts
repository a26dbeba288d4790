// The reasons of conditions: what the schema lists, what the code says, and what docs/operations.md explains are the same.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REASONS } from '../../crds/schema/index.ts';

const ROOT = join(import.meta.dirname, '../..');
const reasons = Object.keys(REASONS);

test('every reason is said somewhere, by the operator or by a runner to it', () => {
  const sources = execFileSync('git', ['grep', '--untracked', '-h', '', '--', 'operator/*.ts', 'runner/*.ts'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  });
  const said = new Set([...sources.matchAll(/'([A-Z][A-Za-z]+)'/g)].map(([, word]) => word));
  expect(reasons.filter((reason) => !said.has(reason))).toEqual([]);
});

test('every reason has a row in docs/operations.md, and every row is a reason', () => {
  const text = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const tables = [...text.matchAll(/^\| reason +\|[^\n]*\n\|[^\n]*\n((?:\|[^\n]*\n)+)/gm)].map(([, rows = '']) => rows);
  const named = tables.flatMap((rows) =>
    rows.split('\n').flatMap((row) => (row.split('|')[1] ?? '').split(',').map((name) => name.trim())),
  );
  expect(named.filter(Boolean).toSorted()).toEqual(reasons.toSorted());
});
