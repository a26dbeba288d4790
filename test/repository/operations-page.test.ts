// The operations page says what to do for every reason that a condition can have while something is not as it should be.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REASONS } from '../../crds/schema/index.ts';

/** All is well: nothing is to be done. */
const WELL = ['Ready', 'Accepted', 'Synced', 'Connected', 'Idle', 'RunnersReady', 'NotSuspended'];

const page = readFileSync('docs/operations.md', 'utf8');
const told = page
  .slice(page.indexOf('## When a condition'), page.indexOf('## Triggers by hand'))
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .flatMap((line) => (line.split('|')[1] ?? '').split(',').map((reason) => reason.trim()));

test('every reason that asks for something, or for patience, stands on the page', () => {
  const asking = Object.keys(REASONS).filter((reason) => !WELL.includes(reason));
  expect(asking.filter((reason) => !told.includes(reason))).toEqual([]);
});

test('every reason that the page names exists', () => {
  const named = told.filter((reason) => /^[A-Z][a-z]+([A-Z][A-Za-z]+)+$/.test(reason));
  expect(named.filter((reason) => !Object.keys(REASONS).includes(reason))).toEqual([]);
});
