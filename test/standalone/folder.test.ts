// What an operator's folder says to the one that comes after it.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { StandaloneFolder } from '../../operator/standalone/index.ts';
import { temporaryFolder } from '../support/temporary.ts';

const RUNNER = { pipeline: 'default/code', runner: 'r', session: 's', slots: 4 };

test('S1 S2 S3: the next operator has the next epoch and expects the runners of the one before, which lets nobody in any more', () => {
  const path = temporaryFolder();
  const first = new StandaloneFolder(path);
  expect(first.enter(RUNNER)).toBe(true);
  const second = new StandaloneFolder(path);
  expect(second.epoch).toBe(first.epoch + 1);
  expect(second.expected).toEqual([RUNNER]);
  expect(first.enter({ ...RUNNER, session: 'late' })).toBe(false);
});

test('an operator before counts as gone only if its process has ended, on this machine', () => {
  const path = temporaryFolder();
  const roster = join(path, 'roster.json');
  const writtenBy = (operator?: { readonly host?: string; readonly pid?: number }) => {
    const { operator: self, ...rest } = JSON.parse(readFileSync(roster, 'utf8'));
    writeFileSync(roster, JSON.stringify({ ...rest, ...(operator && { operator: { ...self, ...operator } }) }));
    return new StandaloneFolder(path).isFormerGone;
  };
  expect(new StandaloneFolder(path).isFormerGone, 'there was none').toBe(false);
  expect(writtenBy({}), 'this process').toBe(false);
  const pid = Number(execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }));
  expect(writtenBy({ pid })).toBe(true);
  expect(writtenBy({ pid, host: 'elsewhere' })).toBe(false);
  expect(writtenBy(undefined), 'nobody knows who it was').toBe(false);
});
