// Updates beside cycles: per-key updates, updates of the whole Pipeline, watchers, dropped sources.
import { beforeEach, describe, expect, test } from 'vitest';
import { settle } from '../support/virtual-clock.ts';
import { counted, LinesStep, ReadStep, WorkStep, World } from './world.ts';

const turns = async (count = 20): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await settle();
};

describe('a per-key update', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.open({ slots: 1 });
    world.source.write('a', 'one');
    world.source.write('b', 'two');
    return () => world.state.close();
  });

  test('looks at the source: it adds, changes, finds unchanged, or deletes', async () => {
    expect(counted(await world.key('a'))).toEqual({ added: 1 });
    expect(counted(await world.key('a'))).toEqual({ unchanged: 1 });
    world.source.write('a', 'other');
    expect(counted(await world.key('a'))).toEqual({ reprocessed: 1 });
    world.source.remove('a');
    expect(counted(await world.key('a'))).toEqual({ deleted: 1 });
    expect(counted(await world.key('a'))).toEqual({});
    expect(world.target.rows.size).toBe(0);
    expect(await world.state.countWork({})).toBe(0);
    expect((await world.state.updates(1))[0]).toMatchObject({ kind: 'key', key: 'a', result: 'Succeeded' });
  });

  test('takes work over from a cycle that still has it waiting: that run never takes a slot and counts as superseded', async () => {
    world.work.gate.isOpen = false;
    const cycle = world.cycle();
    await world.work.gate.held(1);
    expect(world.work.gate.waiting[0]?.name).toBe('a');
    const update = world.key('b');
    await world.work.gate.held(2);
    world.work.gate.open();
    expect(counted(await update)).toEqual({ added: 1 });
    expect(counted(await cycle)).toEqual({ added: 1, superseded: 1 });
    expect(world.desk.begun).toEqual(['docs/a']);
    expect(world.work.calls).toEqual(['a', 'b']);
  });

  test('keeps the wish to reprocess of the update that it takes over from', async () => {
    await world.cycle();
    world.work.calls.length = 0;
    world.work.gate.isOpen = false;
    const { ended } = world.desk.root({ kind: 'pipeline', reprocess: true });
    await world.work.gate.held(1);
    const update = world.key('b');
    await world.work.gate.held(2);
    world.work.gate.open();
    expect(counted(await update)).toEqual({ reprocessed: 1 });
    expect(counted(await ended)).toEqual({ reprocessed: 1, superseded: 1 });
    expect(world.work.calls).toEqual(['a', 'b']);
  });
});

test('a cycle with the wish to reprocess does every item, those that have not changed too', async () => {
  const world = await World.open();
  for (const key of ['a', 'b']) world.source.write(key, `text of ${key}`);
  await world.cycle();
  expect(counted(await world.cycle({ reprocess: true }))).toEqual({ reprocessed: 2 });
  expect(counted(await world.cycle())).toEqual({ unchanged: 2 });
  await world.state.close();
});

describe('an update of the whole Pipeline', () => {
  let world: World;
  const edit = async (identity: string): Promise<WorkStep> => {
    const step = new WorkStep(identity);
    world.steps = world.steps.map((planned) => (planned.verb === 'work' ? { verb: 'work', step } : planned));
    await world.restart();
    return step;
  };

  beforeEach(async () => {
    world = await World.open();
    for (let index = 0; index < 5; index += 1) world.source.write(`file-${index}`, `text ${index}`);
    await world.cycle();
    return () => world.state.close();
  });

  test('F13: runs the known items whose fingerprint differs, without listing the source', async () => {
    const step = await edit('work/2');
    world.source.onBatch = () => {
      throw new Error('it must not list');
    };
    const outcome = await world.desk.root({ kind: 'pipeline' }).ended;
    expect(counted(outcome)).toEqual({ reprocessed: 5 });
    expect(step.calls.length).toBe(5);
    world.source.onBatch = () => {};
    expect(counted(await world.cycle())).toEqual({ unchanged: 5 });
    expect(counted(await world.desk.root({ kind: 'pipeline' }).ended)).toEqual({});
  });

  test('F18: a cycle beside it does not do the same items again', async () => {
    const step = await edit('work/2');
    step.gate.isOpen = false;
    const update = world.desk.root({ kind: 'pipeline' }).ended;
    await step.gate.held(1);
    const cycle = world.cycle();
    await turns();
    step.gate.open();
    expect(counted(await update)).toEqual({ reprocessed: 5 });
    expect(counted(await cycle)).toEqual({});
    expect(step.calls.length).toBe(5);
  });

  test('an edit that changes no result runs nothing', async () => {
    const step = await edit('work/1');
    expect(counted(await world.desk.root({ kind: 'pipeline' }).ended)).toEqual({});
    expect(counted(await world.cycle())).toEqual({ unchanged: 5 });
    expect(step.calls).toEqual([]);
  });

  test('a full reprocess that was cut off is gone on with by the next cycle, each item once more', async () => {
    world.work.gate.isOpen = false;
    world.work.calls.length = 0;
    void world.desk.root({ kind: 'pipeline', reprocess: true });
    await world.work.gate.held(5);
    world.work.gate.release('file-0');
    world.work.gate.release('file-1');
    await turns();
    world.work.gate.forget();
    await world.restart();
    world.work.gate.open();
    world.work.calls.length = 0;
    expect(counted(await world.cycle())).toMatchObject({ reprocessed: 3 });
    expect(world.work.calls.sort()).toEqual(['file-2', 'file-3', 'file-4']);
  });
});

describe('a watcher', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.open();
    return () => world.state.close();
  });

  test('V1: asks for a cycle when it is armed, then tells what it sees', async () => {
    const { run, ended } = world.desk.root({ kind: 'watch', source: 'docs' });
    await turns();
    expect(world.desk.changes).toMatchObject([{ kind: 'rescan' }]);
    world.source.watching?.([{ key: 'a', kind: 'changed', seenAtMs: 5 }]);
    await turns();
    expect(world.desk.changes[1]).toEqual({ key: 'a', kind: 'changed', seenAtMs: 5 });
    world.engine.cancel(run, 'the source is gone');
    expect(await ended).toEqual({ kind: 'cancelled', why: 'the source is gone' });
  });

  test('V2, F3: is armed again with back-off after it failed, and asks for a cycle again', async () => {
    world.random = () => 1;
    const { run } = world.desk.root({ kind: 'watch', source: 'docs' });
    await turns();
    world.source.failWatch?.(new Error('the connection dropped'));
    await world.clock.waiting(2_000);
    world.clock.advance(2_000);
    await turns();
    expect(world.desk.changes.map(({ kind }) => kind)).toEqual(['rescan', 'rescan']);
    world.engine.cancel(run, 'done');
  });
});

describe('dropping', () => {
  test('F36: a dropped source takes all its items, rows and nested components with it, and no vector is kept', async () => {
    const world = new World({ slots: 2 });
    world.steps = [
      { verb: 'read', step: new ReadStep() },
      { verb: 'lines', step: new LinesStep() },
      { verb: 'export', target: 'rows' },
      { verb: 'forEach', component: { steps: [{ verb: 'export', target: 'rows' }] } },
    ];
    await world.start();
    for (let index = 0; index < 30; index += 1) world.source.write(`file-${index}`, 'one\ntwo');
    await world.cycle();
    expect(world.target.rows.size).toBe(120);
    const { ended } = world.desk.root({ kind: 'delete', source: 'docs', path: 'docs' });
    expect(counted(await ended)).toEqual({ deleted: 30 });
    expect(world.target.rows.size).toBe(0);
    expect(await world.state.sizes()).toMatchObject({ items: 0, components: 0, memoEntries: 0, work: 0 });
    expect(world.desk.executingMax).toBe(2);
    await world.state.close();
  });
});
