// Components of a forEach: what they are named by, what runs again, what is deleted, and when the parent commits.
import { beforeEach, describe, expect, test } from 'vitest';
import { StepError } from '../../runner/sdk/index.ts';
import { settle } from '../support/virtual-clock.ts';
import { counted, LinesStep, ReadStep, WorkStep, World } from './world.ts';

describe('forEach', () => {
  let world: World;
  const nested = new WorkStep('nested/1');

  const open = async (limits: { maxInflightRows?: number; maxInflightBytes?: number; key?: string } = {}) => {
    world.steps = [
      { verb: 'read', step: new ReadStep() },
      { verb: 'lines', step: new LinesStep() },
      {
        verb: 'forEach',
        component: {
          steps: [
            { verb: 'work', step: nested },
            { verb: 'export', target: 'rows' },
          ],
        },
        ...limits,
      },
    ];
    await world.restart();
  };

  beforeEach(async () => {
    world = await World.open({ slots: 4 });
    nested.calls.length = 0;
    nested.onCall = () => {};
    nested.gate.open();
    await open();
    world.source.write('a', 'one\ntwo\nthree');
    return () => world.state.close();
  });

  test('runs a component for each element; the item counts once', async () => {
    expect(counted(await world.cycle())).toEqual({ added: 1 });
    expect(world.target.texts()).toEqual({ a: ['one', 'two', 'three'] });
    expect(nested.calls.length).toBe(3);
    expect((await world.state.children('docs/a', '', 10)).length).toBe(3);
  });

  test('an element that did not change costs no run, one that is new runs, and one that left is deleted by a run', async () => {
    await world.cycle();
    nested.calls.length = 0;
    world.desk.begun.length = 0;
    world.source.write('a', 'one\ntwo\nfour');
    expect(counted(await world.cycle())).toEqual({ reprocessed: 1 });
    expect(world.target.texts()).toEqual({ a: ['one', 'two', 'four'] });
    expect(nested.calls.length).toBe(1);
    expect(world.desk.begun.length).toBe(3);
    expect((await world.state.children('docs/a', '', 10)).length).toBe(3);
  });

  test('an element that only moved keeps its row, which moves with it', async () => {
    await world.cycle();
    const ids = new Set(world.target.rows.keys());
    const { writes } = world.target;
    world.source.write('a', 'two\none\nthree');
    await world.cycle();
    expect(world.target.texts()).toEqual({ a: ['two', 'one', 'three'] });
    expect(new Set(world.target.rows.keys())).toEqual(ids);
    expect(world.target.writes).toBe(writes);
  });

  test('equal elements are components of their own', async () => {
    world.source.write('a', 'same\nsame\nsame');
    await world.cycle();
    expect(world.target.texts()).toEqual({ a: ['same', 'same', 'same'] });
    world.source.write('a', 'same\nsame');
    await world.cycle();
    expect(world.target.texts()).toEqual({ a: ['same', 'same'] });
  });

  test('F43: the parent commits only after its children are ready', async () => {
    nested.gate.isOpen = false;
    const ended = world.cycle();
    await nested.gate.held(1);
    while (nested.gate.waiting.length > 0) {
      expect(await world.state.item('docs', 'a')).toMatchObject({ contentHash: '', committedAtMs: 0 });
      nested.gate.release();
      for (let turn = 0; turn < 10; turn += 1) await settle();
    }
    await ended;
    expect(await world.state.item('docs', 'a')).toMatchObject({ status: 'ok' });
  });

  test('an element that fails fails its item, which is tried again; those that succeeded do not run again', async () => {
    nested.onCall = (_key, [element]) => {
      if (element?.text === 'two') throw new StepError('invalid', 'no two');
    };
    expect(counted(await world.cycle())).toEqual({ failed: 1 });
    expect(await world.state.item('docs', 'a')).toMatchObject({ status: 'failed', error: 'work: no two' });
    expect(world.target.texts()).toEqual({ a: ['one', 'three'] });
    nested.onCall = () => {};
    nested.calls.length = 0;
    expect(counted(await world.cycle())).toEqual({ added: 1 });
    expect(nested.calls.length).toBe(1);
    expect(world.target.texts()).toEqual({ a: ['one', 'two', 'three'] });
  });

  test('no element is deleted while another fails: the item keeps all it had', async () => {
    await world.cycle();
    nested.onCall = (_key, [element]) => {
      if (element?.text === 'four') throw new StepError('invalid', 'no four');
    };
    world.source.write('a', 'one\nfour');
    await world.cycle();
    expect(world.target.texts()).toEqual({ a: ['one', 'two', 'three'] });
  });

  test('a removed item takes all its elements with it, each by a run, also with one slot', async () => {
    await world.cycle();
    world.source.remove('a');
    world.desk.begun.length = 0;
    expect(counted(await world.cycle())).toEqual({ deleted: 1 });
    expect(world.target.rows.size).toBe(0);
    expect(world.desk.begun.length).toBe(4);
    expect((await world.state.sizes()).components).toBe(0);
  });

  test('elements of an earlier plan are deleted when the plan mounts none any more', async () => {
    await world.cycle();
    world.steps = [
      { verb: 'read', step: new ReadStep() },
      { verb: 'export', target: 'rows' },
    ];
    await world.restart();
    expect(counted(await world.cycle())).toEqual({ reprocessed: 1 });
    expect(world.target.texts()).toEqual({ a: ['one\ntwo\nthree'] });
    expect((await world.state.sizes()).components).toBe(1);
  });

  test('F24: code of the nested steps changed: the item runs again, though its own steps did not change', async () => {
    await world.cycle();
    const other = new WorkStep('nested/2');
    world.steps = [
      ...world.steps.slice(0, 2),
      {
        verb: 'forEach',
        component: {
          steps: [
            { verb: 'work', step: other },
            { verb: 'export', target: 'rows' },
          ],
        },
      },
    ];
    await world.restart();
    expect(counted(await world.cycle())).toEqual({ reprocessed: 1 });
    expect(other.calls.length).toBe(3);
  });

  test('limits of rows and bytes in flight hold, and an element heavier than a limit runs alone', async () => {
    await open({ maxInflightRows: 2 });
    world.source.write('a', Array.from({ length: 12 }, (_, index) => `line ${index}`).join('\n'));
    let most = 0;
    nested.onCall = async () => {
      most = Math.max(most, world.desk.executing);
      await settle();
    };
    await world.cycle();
    expect(most).toBe(2);

    await open({ maxInflightBytes: 1 });
    world.source.write('a', Array.from({ length: 5 }, (_, index) => `other ${index}`).join('\n'));
    most = 0;
    await world.cycle();
    expect(most).toBe(1);
    expect(world.target.texts().a?.length).toBe(5);
  });

  test('an element above 256 KiB is refused with advice', async () => {
    world.source.write('a', 'x'.repeat(300_000));
    expect(counted(await world.cycle())).toEqual({ failed: 1 });
    expect((await world.state.item('docs', 'a'))?.error).toMatch(
      /^forEach: .* at most 262144 .*split it first, or pass a reference/,
    );
  });

  test('the same field for two elements is refused', async () => {
    await open({ key: 'name' });
    expect(counted(await world.cycle())).toEqual({ failed: 1 });
    expect((await world.state.item('docs', 'a'))?.error).toMatch(/by the field "name", which an element lacks/);
  });
});
