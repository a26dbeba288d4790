// F7 in one process: an item that takes down the process that works on it, as soon as it begins. Real processes that die.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, test, vi } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

/** Ends its process at once over what is deadly, unless it is told to spare it; stays at what is to stay until nobody holds it. */
const MODULE = `import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
const file = (name) => join(import.meta.dirname, name);
export const work = async (elements) => {
  const text = elements.map((element) => element.text).join('');
  if (text.includes('DEADLY') && !existsSync(file('spares'))) process.kill(process.pid, 'SIGKILL');
  if (text.includes('SLOW')) await setTimeout(100);
  if (text.includes('STAYS')) writeFileSync(file('stays'), '');
  while (text.includes('STAYS') && existsSync(file('held'))) await setTimeout(10);
  return elements;
};
`;

/** Starts without one that ends by itself, at the most: one death that nobody expected, and three that count. */
const DEATHS_MAX = 4;

let space: Workspace;
beforeEach(() => {
  space = new Workspace({
    pipeline: 'maxInflightComponents: 6',
    steps: 'module: {path: module.mjs, entry: work}\n      - split: {by: text}',
  });
  space.write('module.mjs', MODULE);
});

const index = () => space.run('dev', '-f', 'pipeline.yaml');

const quarantined = async (): Promise<string[]> => {
  const { items } = JSON.parse((await space.run('quarantine', '-f', 'pipeline.yaml', '-o', 'json')).stdout);
  return items
    .filter(({ status }: { status: string }) => status === 'quarantined')
    .map(({ key }: { key: string }) => key);
};

test('an item that takes its process down at once is left alone after three counted deaths, and nobody who ran beside it is', async () => {
  const others = Array.from({ length: 24 }, (_, at) => `note-${String(at).padStart(2, '0')}.txt`);
  for (const [at, name] of others.entries()) space.write(`files/${name}`, `${at % 2 === 0 ? 'SLOW' : 'quick'} ${at}\n`);
  space.write('files/note-03-deadly.txt', 'DEADLY\n');
  let deaths = 0;
  let last = await index();
  for (; last.code === null && deaths < 10; deaths += 1) last = await index();
  expect(deaths).toBeLessThanOrEqual(DEATHS_MAX);
  expect(last.stdout).toMatch(/ 1 failed/);
  expect(last.stdout + last.stderr).toContain('note-03-deadly.txt');
  expect(space.keys()).toEqual(others);
  expect(await quarantined()).toEqual(['note-03-deadly.txt']);
  space.write('files/note-03-deadly.txt', 'harmless\n');
  expect((await index()).code).toBe(0);
  expect(space.keys()).toEqual([...others, 'note-03-deadly.txt'].sort());
});

test('what a reprocess or a repair left undone that was killed is done by the next one', async () => {
  const names = Array.from({ length: 8 }, (_, at) => `note-${at}.txt`);
  for (const name of names) space.write(`files/${name}`, `${name === 'note-4.txt' ? 'DEADLY' : 'quick'}\n`);
  space.write('spares', '');
  expect((await index()).code).toBe(0);
  space.remove('spares');
  expect((await space.run('reprocess', '-f', 'pipeline.yaml')).code).toBe(null);
  space.write('spares', '');
  expect((await space.run('reprocess', '-f', 'pipeline.yaml')).stdout).toMatch(/ 8 reprocessed, 0 deleted, 0 failed/);
  space.remove('spares');
  const database = new DatabaseSync(join(space.folder, '.fairlead', 'notes.db'));
  database.exec('DELETE FROM chunks_rows');
  database.close();
  expect((await space.run('verify', '-f', 'pipeline.yaml', '--repair')).code).toBe(null);
  space.write('spares', '');
  expect((await space.run('verify', '-f', 'pipeline.yaml', '--repair')).code).toBe(0);
  expect(space.keys()).toEqual(names);
});

test('who is stopped at once by the user again and again is not blamed for it', async () => {
  space.write('files/long.txt', 'STAYS\n');
  space.write('held', '');
  for (let round = 0; round < DEATHS_MAX + 1; round += 1) {
    const running = space.start('dev', '-f', 'pipeline.yaml');
    await eventually(() => existsSync(join(space.folder, 'stays')), Boolean, 'it is at the item');
    running.process.kill('SIGINT');
    await running.sees(/press Ctrl-C again/);
    running.process.kill('SIGINT');
    expect((await running.done).code).toBe(130);
    space.remove('stays');
  }
  space.remove('held');
  expect((await index()).code).toBe(0);
  expect(space.keys()).toEqual(['long.txt']);
});
