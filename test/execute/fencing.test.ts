// Who may write: tokens, epochs, records that moved, rows outside the store that a late runner wrote.
import { beforeEach, describe, expect, test } from 'vitest';
import type { RunOutcome } from '../../runner/protocol/index.ts';
import { settle } from '../support/virtual-clock.ts';
import { counted, replacing, World } from './world.ts';

describe('a run that was presumed dead', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.open();
    world.source.write('a', 'old');
    await world.cycle();
    return () => world.state.close();
  });

  /** A run of item `a` that stands still in its step, started by a desk that then forgets it. */
  const stuck = async (): Promise<{ run: number; ended: Promise<RunOutcome> }> => {
    world.work.gate.isOpen = false;
    const started = world.desk.root({ kind: 'item', source: 'docs', key: 'a', path: 'docs/a' });
    await world.work.gate.held(1);
    return started;
  };

  test('E4: cannot overwrite what a newer run committed, and the item is left as the newer run made it', async () => {
    world.source.write('a', 'late');
    const late = await stuck();
    world.source.write('a', 'new');
    world.work.gate.isOpen = true;
    expect(counted(await world.key('a'))).toEqual({ reprocessed: 1 });
    world.work.gate.open();
    expect(await late.ended).toEqual({ kind: 'superseded' });
    expect(world.target.texts()).toEqual({ a: ['new'] });
    expect(counted(await world.cycle())).toEqual({ unchanged: 1 });
  });

  test('commits before a newer run does: the newer one finds the record moved and leaves no row of the late one', async () => {
    world.source.write('a', 'late\nboth');
    const late = await stuck();
    world.source.write('a', 'new\nboth');
    const newer = await stuck();
    await world.work.gate.held(2);
    world.work.gate.release();
    await late.ended;
    expect(world.target.texts()).toEqual({ a: ['late', 'both'] });
    world.work.gate.open();
    expect(counted(await newer.ended)).toEqual({ reprocessed: 1 });
    expect(world.target.texts()).toEqual({ a: ['new', 'both'] });
    expect((await world.state.components(['docs/a']))[0]?.intended.size).toBe(0);
  });

  test('a late write to a target outside the store is corrected by the next cycle', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    world.source.write('a', 'late');
    let applies = 0;
    world.target.onApply = () => (++applies === 1 ? promise : undefined);
    const late = world.key('a');
    while (applies === 0) await settle();
    world.source.write('a', 'new');
    expect(counted(await world.key('a'))).toEqual({ reprocessed: 1 });
    resolve();
    expect(await late).toEqual({ kind: 'superseded' });
    expect(world.target.texts()).not.toEqual({ a: ['new'] });
    expect(counted(await world.cycle())).toEqual({ reprocessed: 1 });
    expect(world.target.texts()).toEqual({ a: ['new'] });
    expect(counted(await world.cycle())).toEqual({ unchanged: 1 });
  });

  test('after a change of leader a commit waits for its renewed token, and is made with it', async () => {
    world.source.write('a', 'new');
    const { run, ended } = await stuck();
    let asked = 0;
    world.state.commit = replacing(world.state, {}).commit;
    const commit = world.state.commit.bind(world.state);
    world.state.commit = async (group) => {
      asked += 1;
      const [first] = group;
      return first?.token.epoch === 7 ? commit(group) : group.map(() => ({ kind: 'fenced', by: 'epoch' }));
    };
    world.work.gate.open();
    while (asked === 0) await settle();
    world.engine.renewed(run, { epoch: 7, run, attempt: 1 });
    expect(counted(await ended)).toEqual({ reprocessed: 1 });
    expect(world.target.texts()).toEqual({ a: ['new'] });
  });

  test('a commit that waits for its renewed token can be cancelled', async () => {
    world.source.write('a', 'new');
    const { run, ended } = await stuck();
    let asked = 0;
    world.state.commit = async (group) => {
      asked += 1;
      return group.map(() => ({ kind: 'fenced', by: 'epoch' }));
    };
    world.work.gate.open();
    while (asked === 0) await settle();
    world.engine.cancel(run, 'fenced in time');
    expect(await ended).toEqual({ kind: 'cancelled', why: 'fenced in time' });
  });
});

describe('a group of commits', () => {
  test('one component that the target refuses fails alone; the others of its group commit', async () => {
    const world = await World.open({ slots: 16 });
    for (let index = 0; index < 16; index += 1) world.source.write(`file-${index}`, `text ${index}`);
    world.work.gate.isOpen = false;
    world.target.onApply = (changes) => {
      if (changes.some(({ owner }) => owner === 'docs/file-5')) throw new Error('row too wide');
    };
    const ended = world.cycle();
    await world.work.gate.held(16);
    world.work.gate.open();
    expect(counted(await ended)).toEqual({ added: 15, failed: 1 });
    expect(await world.state.item('docs', 'file-5')).toMatchObject({ status: 'failed', error: 'export: row too wide' });
    await world.state.close();
  });

  test('F39: commits of one moment reach a target in few writes', async () => {
    const world = await World.open({ slots: 1_024 });
    for (let index = 0; index < 1_000; index += 1) world.source.write(`file-${index}`, `text ${index}`);
    await world.cycle();
    expect(world.target.rows.size).toBe(1_000);
    expect(world.target.applies).toBeLessThanOrEqual(100);
    await world.state.close();
  });
});
