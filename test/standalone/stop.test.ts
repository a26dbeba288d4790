// Told to end once, processes end in order and say so; told twice, they end at once. Nothing is lost either way.
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { isAlive, StandaloneField } from './field.ts';

vi.setConfig({ testTimeout: 300_000 });

const FILES = 12;

/** Runs last until `release` is called. */
function fieldThatHolds(): { field: StandaloneField; release: () => void } {
  const held = `held-${process.pid}`;
  const body = `
  const { existsSync } = await import('node:fs');
  while (existsSync(${JSON.stringify(held)})) await new Promise((resolve) => setTimeout(resolve, 20));`;
  const field = new StandaloneField({ limit: 2, runners: 1, eachMs: 1, body });
  writeFileSync(join(field.folder, held), '');
  return { field, release: () => rmSync(join(field.folder, held)) };
}

/** Runners have begun to work, and one of them is this process. */
async function workingRunner(field: StandaloneField): Promise<number> {
  onTestFinished(() => field.close());
  for (let i = 0; i < FILES; i++) field.write('listed', `file-${i}`, `text ${i}`);
  await field.startOperator();
  const begun = await eventually(
    () => field.executions(),
    ({ length }) => length > 0,
    'runs begin',
  );
  return begun[0]!.pid;
}

test('F91, F95: told once, a runner lets what runs end, says so, and another one does the rest', async () => {
  const field = new StandaloneField({ limit: 2, runners: 1, eachMs: 200 });
  const runner = await workingRunner(field);
  process.kill(runner, 'SIGTERM');
  await field.operator.sees(/SIGTERM: what runs may end within 25 s, the rest is handed back/);
  await field.operator.sees(/a runner left.*the runner got SIGTERM/);
  await field.settled();
  const own = field.executions().filter(({ pid }) => pid === runner);
  expect(own.filter(({ endedAtMs }) => endedAtMs === Number.POSITIVE_INFINITY)).toEqual([]);
});

test('told twice, a runner ends at once, whatever runs there, and another one does all of it', async () => {
  const { field, release } = fieldThatHolds();
  const runner = await workingRunner(field);
  process.kill(runner, 'SIGTERM');
  await field.operator.sees(/SIGTERM: what runs may end/);
  process.kill(runner, 'SIGTERM');
  await field.operator.sees(/SIGTERM again: what was not done is handed back/);
  await eventually(
    () => isAlive(runner),
    (alive) => !alive,
    'the runner ends',
  );
  release();
  await field.settled();
});

test('told twice, the operator and its runners end at once, and the next operator does what is left', async () => {
  const { field, release } = fieldThatHolds();
  const runner = await workingRunner(field);
  const { process: operator } = field.operator;
  const ended = once(operator, 'exit');
  operator.kill('SIGTERM');
  await field.operator.sees(/SIGTERM: the operator ends when its runners have left/);
  await field.operator.sees(/SIGTERM: what runs may end/); // two signals that a process has not looked at are one
  operator.kill('SIGTERM');
  expect((await ended)[0]).toBe(143);
  await eventually(
    () => isAlive(runner),
    (alive) => !alive,
    'the runner ends',
  );
  release();
  await field.startOperator();
  await field.settled();
});
