// Cycles of a live source through the engine alone: what runs, what is compared, what is deleted.
import { beforeEach, describe, expect, test } from 'vitest';
import { StepError } from '../../runner/sdk/index.ts';
import { settle } from '../support/virtual-clock.ts';
import { counted, replacing, World } from './world.ts';

describe('a cycle', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.open();
    world.source.write('a', 'one\ntwo');
    world.source.write('b', 'three');
    return () => world.state.close();
  });

  test('the first cycle adds every item, and the next one compares them without a run, a read or a write', async () => {
    expect(counted(await world.cycle())).toEqual({ added: 2 });
    expect(world.target.texts()).toEqual({ a: ['one', 'two'], b: ['three'] });
    const { reads } = world.source;
    const { writes } = world.target;
    world.desk.begun.length = 0;
    expect(counted(await world.cycle())).toEqual({ unchanged: 2 });
    expect([world.desk.begun, world.source.reads, world.target.writes]).toEqual([[], reads, writes]);
  });

  test('F5: a restart with an unchanged source runs nothing', async () => {
    await world.cycle();
    await world.restart();
    expect(counted(await world.cycle())).toEqual({ unchanged: 2 });
    expect(world.desk.begun).toEqual([]);
  });

  test('only the item that changed runs again, and only its lines that changed are written', async () => {
    await world.cycle();
    const { writes } = world.target;
    world.source.write('a', 'zero\none\ntwo');
    expect(counted(await world.cycle())).toEqual({ reprocessed: 1, unchanged: 1 });
    expect(world.target.texts()).toEqual({ a: ['zero', 'one', 'two'], b: ['three'] });
    expect(world.target.writes - writes).toBe(1);
  });

  test('F11: an item that was touched without a change of content runs no step', async () => {
    await world.cycle();
    world.source.touch('a');
    world.work.calls.length = 0;
    expect(counted(await world.cycle())).toEqual({ unchanged: 2 });
    expect(world.work.calls).toEqual([]);
    world.desk.begun.length = 0;
    expect(counted(await world.cycle())).toEqual({ unchanged: 2 });
    expect(world.desk.begun).toEqual([]);
  });

  test('an item whose further columns changed is reprocessed though its body is equal', async () => {
    world.source.items.set('a', { version: 'w1', text: 'one', title: 'old' });
    await world.cycle();
    world.source.items.set('a', { version: 'w2', text: 'one', title: 'new' });
    expect(counted(await world.cycle())).toEqual({ reprocessed: 1, unchanged: 1 });
  });

  test('rows of an item that left the source go, also when it left while nothing ran (F33)', async () => {
    await world.cycle();
    world.source.remove('a');
    await world.restart();
    expect(counted(await world.cycle())).toEqual({ deleted: 1, unchanged: 1 });
    expect(world.target.texts()).toEqual({ b: ['three'] });
    expect(counted(await world.cycle())).toEqual({ unchanged: 1 });
  });

  test('an item that went away between the listing and its run keeps its rows until the next listing misses it', async () => {
    await world.cycle();
    world.source.write('a', 'changed');
    world.source.onRead = (key) => {
      if (key === 'a') world.source.remove('a');
    };
    expect(counted(await world.cycle())).toEqual({ unchanged: 2 });
    expect(counted(await world.cycle())).toEqual({ deleted: 1, unchanged: 1 });
    expect(world.target.texts()).toEqual({ b: ['three'] });
  });

  test('F8: rows of the first batch are in the target before the listing ends', async () => {
    world.source.batchSize = 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    world.source.onBatch = (index) => (index === 1 ? promise : undefined);
    const ended = world.cycle();
    while (world.target.rows.size === 0) await settle();
    expect(world.target.texts()).toEqual({ a: ['one', 'two'] });
    resolve();
    expect(counted(await ended)).toEqual({ added: 2 });
  });

  test('a producer of many items holds a bounded number of waiting runs, and all are done', async () => {
    for (let index = 0; index < 5_000; index += 1) world.source.write(`file-${index}`, `text ${index}`);
    expect(counted(await world.cycle())).toEqual({ added: 5_002 });
    expect(world.desk.waitingMax).toBeLessThanOrEqual(256);
    expect(world.desk.executingMax).toBe(8);
    expect(world.target.rows.size).toBe(5_003);
  });

  test('listings of one source take turns, and a second cycle lists while items of the first still wait', async () => {
    world.work.gate.isOpen = false;
    world.desk.slots = 1;
    const first = world.cycle();
    await world.work.gate.held(1);
    world.source.write('c', 'four');
    const second = world.cycle();
    while ([...world.desk.progresses.values()].filter(({ listed }) => listed).length < 2) await settle();
    world.work.gate.open();
    expect([counted(await first), counted(await second)]).toEqual([{ added: 2 }, { added: 1 }]);
    expect(world.work.calls.sort()).toEqual(['a', 'b', 'c']);
  });

  test('an item whose work was adopted is counted once, though the listing comes to it after it was done', async () => {
    world.source.write('c', 'four');
    world.work.gate.isOpen = false;
    world.desk.slots = 1;
    void world.cycle();
    await world.work.gate.held(1);
    world.work.gate.forget();
    await world.restart();
    world.work.gate.isOpen = true;
    world.work.onCall = (key) => {
      if (key === 'c') throw new StepError('invalid', 'no');
    };
    const { promise, resolve } = Promise.withResolvers<void>();
    world.source.onBatch = () => promise;
    const ended = world.cycle();
    while (world.target.rows.size < 3 || world.work.calls.at(-1) !== 'c') await settle();
    await settle(20);
    resolve();
    expect(counted(await ended)).toEqual({ added: 2, failed: 1 });
  });

  test('progress says when the listing ended, with the final total', async () => {
    await world.cycle();
    expect([...world.desk.progresses.values()].at(-1)).toMatchObject({ listed: true, total: 2 });
  });

  test('facts that steps tell about items reach people, a bounded number of them, once', async () => {
    for (let index = 0; index < 30; index += 1) world.source.write(`file-${String(index).padStart(2, '0')}`, 'x');
    world.work.onCall = (_key, _elements, context) => context.note?.('is binary');
    await world.cycle();
    const notes = world.engine.takeNotes('docs');
    expect([notes.length, notes[0], notes.at(-1)]).toEqual([21, 'a: is binary', '12 more notes']);
    expect(world.engine.takeNotes('docs')).toEqual([]);
  });

  test('the update is recorded with its counts', async () => {
    await world.cycle({ trigger: 'interval' });
    expect(await world.state.updates(1)).toMatchObject([
      { kind: 'cycle', source: 'docs', trigger: 'interval', result: 'Succeeded', counts: { added: 2 }, listed: true },
    ]);
  });
});

describe('deletes', () => {
  let world: World;
  const fill = (count: number): void => {
    for (let index = 0; index < count; index += 1) world.source.write(`file-${index}`, `text ${index}`);
  };

  beforeEach(async () => {
    world = await World.open();
    return () => world.state.close();
  });

  test('F1: a listing that broke off deletes nothing, and what it did name is processed', async () => {
    fill(30);
    await world.cycle();
    fill(10);
    world.source.batchSize = 10;
    world.source.onBatch = (index) => {
      if (index === 2) throw new Error('page 3 answered 503');
    };
    const outcome = await world.cycle();
    expect(outcome).toMatchObject({ kind: 'failed', error: { step: 'list', message: 'page 3 answered 503' } });
    expect(counted(outcome)).toEqual({ unchanged: 20 });
    expect(Object.keys(world.target.texts()).length).toBe(30);
  });

  test('a listing that broke off at its very end deletes nothing either', async () => {
    fill(3);
    await world.cycle();
    world.source.remove('file-0');
    world.source.onBatch = (index) => {
      if (index === -1) throw new Error('the connection was reset');
    };
    expect((await world.cycle()).kind).toBe('failed');
    expect(world.target.texts()['file-0']).toEqual(['text 0']);
  });

  test('F1: more than the guard allows stops before the first delete; with consent the next cycle goes on', async () => {
    fill(60);
    await world.cycle();
    world.source.items.clear();
    world.source.write('new', 'kept');
    const held = await world.cycle();
    expect(held).toMatchObject({ kind: 'done', heldDeletes: { missing: 60, known: 60 } });
    expect(counted(held)).toEqual({ added: 1 });
    expect(Object.keys(world.target.texts()).length).toBe(61);
    expect((await world.state.updates(1))[0]).toMatchObject({ result: 'CompletedWithErrors' });
    expect(counted(await world.cycle({ allowDeletes: true }))).toEqual({ deleted: 60, unchanged: 1 });
    expect(world.target.texts()).toEqual({ new: ['kept'] });
  });

  test.each([
    ['20 of 20 items: no more than the least number', 20, 20, true],
    ['21 of 42 items: not more than half', 42, 21, true],
    ['22 of 42 items: more than half and more than 20', 42, 22, false],
  ])('the guard lets through or stops: %s', async (_name, known, gone, isThrough) => {
    fill(known);
    await world.cycle();
    for (let index = 0; index < gone; index += 1) world.source.remove(`file-${index}`);
    const outcome = await world.cycle();
    expect('heldDeletes' in outcome).toBe(!isThrough);
    expect(Object.keys(world.target.texts()).length).toBe(isThrough ? known - gone : known);
  });

  test.each([
    ['28 of 56 items: not more than half', 56, true],
    ['28 of 55 items: more than half, and more than 20', 55, false],
  ])('the guard counts what per-key updates deleted since the last listing: %s', async (_name, known, isThrough) => {
    fill(known);
    await world.cycle();
    for (let index = 0; index < 28; index += 1) world.source.remove(`file-${index}`);
    for (let index = 0; index < 10; index += 1) await world.key(`file-${index}`);
    const outcome = await world.cycle({ input: { deletedBefore: 10 } });
    expect('heldDeletes' in outcome).toBe(!isThrough);
    expect(Object.keys(world.target.texts()).length).toBe(isThrough ? known - 28 : known - 10);
  });

  test('an item that an update finds gone keeps its rows until a listing misses it: the guard looks at all of them', async () => {
    fill(60);
    await world.cycle();
    world.source.items.clear();
    const { ended } = world.desk.root({ kind: 'pipeline', reprocess: true });
    expect(counted(await ended)).toEqual({ unchanged: 60 });
    expect(await world.state.countWork({})).toBe(0);
    expect(await world.cycle()).toMatchObject({ heldDeletes: { missing: 60, known: 60 } });
    expect(Object.keys(world.target.texts()).length).toBe(60);
    expect(counted(await world.cycle({ allowDeletes: true }))).toEqual({ deleted: 60 });
  });

  test('an item that a per-key update brought after the listing began is not deleted by it', async () => {
    fill(3);
    await world.cycle();
    world.source.onBatch = async (index) => {
      if (index !== -1) return;
      world.source.onBatch = () => {};
      world.source.write('late', 'seen by the watcher');
      world.source.write('file-1', 'text 1');
      await world.key('late');
      await world.key('file-1');
    };
    expect(counted(await world.cycle())).toEqual({ unchanged: 3 });
    expect(Object.keys(world.target.texts()).sort()).toEqual(['file-0', 'file-1', 'file-2', 'late']);
  });

  test('an item that a per-key update brought back during a listing that missed it stays', async () => {
    fill(3);
    await world.cycle();
    world.source.remove('file-1');
    world.source.onBatch = async (index) => {
      if (index !== -1) return;
      world.source.onBatch = () => {};
      world.source.write('file-1', 'back again');
      await world.key('file-1');
    };
    expect(counted(await world.cycle())).toEqual({ unchanged: 2 });
    expect(world.target.texts()['file-1']).toEqual(['back again']);
    expect(counted(await world.cycle())).toEqual({ unchanged: 3 });
  });

  test('a delete that waits is taken over by a later cycle that finds the item again', async () => {
    fill(2);
    await world.cycle();
    const { version, text } = world.source.items.get('file-1')!;
    world.source.remove('file-1');
    world.desk.slots = 0;
    const first = world.cycle();
    while (![...world.desk.progresses.values()].at(-1)?.listed || world.desk.openRuns < 2) await settle();
    world.source.items.set('file-1', { version, text });
    const second = world.cycle();
    while ((await world.state.countWork({ source: 'docs' })) < 1 || world.desk.openRuns > 3) await settle();
    for (let turn = 0; turn < 20; turn += 1) await settle();
    world.desk.slots = 8;
    world.desk.serve();
    expect(counted(await first)).toEqual({ unchanged: 1, superseded: 1 });
    expect(counted(await second)).toEqual({ unchanged: 2 });
    expect(Object.keys(world.target.texts())).toEqual(['file-0', 'file-1']);
  });

  test('F35, F40: a delete that the target refuses is counted, keeps its reason, and is done by a later cycle', async () => {
    fill(2);
    await world.cycle();
    world.source.remove('file-1');
    world.target.onApply = () => {
      throw new Error('the target is read-only');
    };
    expect(counted(await world.cycle())).toEqual({ failed: 1, unchanged: 1 });
    expect(await world.state.item('docs', 'file-1')).toMatchObject({
      status: 'failed',
      error: 'export: the target is read-only',
    });
    world.target.onApply = () => {};
    await world.restart();
    expect(counted(await world.cycle())).toEqual({ deleted: 1, unchanged: 1 });
    expect(Object.keys(world.target.texts())).toEqual(['file-0']);
  });

  test('an item that comes back after half of its delete is written again', async () => {
    fill(2);
    await world.cycle();
    const kept = world.source.items.get('file-1')!;
    world.source.remove('file-1');
    await world.restart((state) =>
      replacing(state, {
        commit: async (group) => {
          if (group.some(({ kind }) => kind === 'remove')) throw new Error('the store went away');
          return state.commit(group);
        },
      }),
    );
    expect(counted(await world.cycle())).toEqual({ failed: 1, unchanged: 1 });
    expect(Object.keys(world.target.texts())).toEqual(['file-0']);
    await world.restart();
    world.source.items.set('file-1', kept);
    expect(counted(await world.cycle())).toMatchObject({ unchanged: 1, reprocessed: 1 });
    expect(Object.keys(world.target.texts())).toEqual(['file-0', 'file-1']);
  });
});
