// Cards in local mode: steps with gpu run on cards that a variable stands in for, and are refused with advice where there are none (G8).
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { Workspace } from './workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

/** A Pipeline whose program answers with what it is told of its cards. */
function spaceOf(gpu: string): Workspace {
  const steps = `exec: {command: [${process.execPath}, program.mjs]}\n        gpu: ${gpu}`;
  const pipeline = 'runners: [{name: card, slots: 8, gpus: 2, replicas: {max: 1}}]';
  const space = new Workspace({ steps, pipeline });
  copyFileSync(join(import.meta.dirname, '../steps/program.mjs'), join(space.folder, 'program.mjs'));
  for (const name of ['a', 'b', 'c']) space.write(`files/${name}.txt`, 'share');
  return space;
}

test('a program has the cards and the fraction that its grant says, on cards that FAIRLEAD_NUM_GPUS stands in for', async () => {
  const space = spaceOf('500m');
  space.environment.FAIRLEAD_NUM_GPUS = '2';
  const { code, stdout } = await space.run('dev', '-f', 'pipeline.yaml', '--once');
  expect([code, stdout]).toEqual([0, expect.stringContaining('3 added, 0 reprocessed, 0 deleted, 0 failed')]);
  for (const { text } of space.rows()) expect(text).toMatch(/^[01] 0\.5$/);
});

test('without cards such a Pipeline is refused at once, with what would stand in for them', async () => {
  const space = spaceOf('2');
  space.environment.FAIRLEAD_NUM_GPUS = '1';
  const { code, stderr } = await space.run('dev', '-f', 'pipeline.yaml', '--once');
  expect(code).not.toBe(0);
  expect(stderr).toContain('a step asks for 2 cards (gpu), and this machine has 1');
  expect(stderr).toContain('FAIRLEAD_NUM_GPUS=2 stands in for them');
});
