// Rows of a state that was lost (Q1, Q2): the engine lets go of what no component claims, wherever its cycles run.
import { expect, test } from 'vitest';
import { StepError } from '../../runner/sdk/index.ts';
import { counted, World } from './world.ts';

async function open() {
  let swept = 0;
  const world = await World.open({
    adopted: [
      {
        sweep: async () => {
          swept += 1;
          return 0;
        },
      },
    ],
  });
  world.source.write('a', 'one');
  return { world, swept: () => swept };
}

test('they go with the first whole cycle, once', async () => {
  const { world, swept } = await open();
  await world.cycle();
  expect(swept()).toBe(1);
  await world.cycle();
  expect(swept()).toBe(1);
  await world.state.close();
});

test('Q1: neither after a cycle in which an item failed, nor after a listing that did not end', async () => {
  const { world, swept } = await open();
  world.work.onCall = () => {
    throw new StepError('invalid', 'no');
  };
  expect(counted(await world.cycle())).toEqual({ failed: 1 });
  world.work.onCall = () => {};
  world.source.onBatch = () => {
    throw new Error('503');
  };
  await world.cycle();
  expect(swept()).toBe(0);
  world.source.onBatch = () => {};
  await world.cycle();
  expect(swept()).toBe(1);
  await world.state.close();
});

test('Q1: nor while another source has had no whole cycle; one that another runner ran counts', async () => {
  const { world, swept } = await open();
  world.others = ['elsewhere'];
  await world.restart();
  await world.cycle();
  expect(swept()).toBe(0);
  await world.state.saveUpdate({
    name: 'u',
    kind: 'cycle',
    source: 'elsewhere',
    trigger: 'start',
    startedAtMs: 0,
    result: 'Succeeded',
    counts: { unchanged: 0, added: 1, reprocessed: 0, deleted: 0, failed: 0, superseded: 0 },
    listed: true,
  });
  await world.cycle();
  expect(swept()).toBe(1);
  await world.state.close();
});

test('Q2: nor while work of another update waits', async () => {
  const { world, swept } = await open();
  const work = { source: 'docs', key: 'b', action: 'process', version: 'v', update: 'other', seenAtMs: 0 } as const;
  await world.state.enter([work]);
  await world.cycle({ openUpdates: ['other'] });
  expect(swept()).toBe(0);
  await world.cycle();
  expect(swept()).toBe(1);
  await world.state.close();
});
