// What a new operator takes over from its runners, where the simulation once failed and beyond: B1 to B7, with reports that the test writes.
import { expect, test } from 'vitest';
import { EMPTY_REPORT, NO_COUNTS, type RunnerReport, type RunOrder } from '../../runner/protocol/index.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';
import { World } from './world.ts';

const ROOT: RunOrder = {
  token: { epoch: 1, run: 1, attempt: 1 },
  update: 'docs-1-1',
  updateOf: 'docs',
  path: 'docs',
  kind: 'cycle',
  source: 'docs',
};
const ITEM: RunOrder = { ...ROOT, token: { epoch: 1, run: 2, attempt: 1 }, path: 'docs/a', kind: 'item', parentRun: 1 };

test('on one slot, a run that was reported before its parent still lends it to its own child', () => {
  const world = new World({ slotsMax: 1, epoch: 2 });
  world.dispatcher.openSource({ name: 'docs' });
  for (const name of ['a', 'b']) world.dispatcher.expectRunner(name, 1);
  const child = { mount: 1, path: 'docs/a/0', kind: 'element' } as const;
  const second = join(world, 'b', { order: ITEM, mounts: [{ request: child, isStarted: false }] });
  const item = { mount: 1, path: 'docs/a', kind: 'item', source: 'docs' } as const;
  const first = join(world, 'a', { order: ROOT, mounts: [{ request: item, isStarted: true }] });
  expect([...first.paths(), ...second.paths()], 'the child executes').toEqual(['docs/a/0']);
  world.dispatcher.audit();
});

test('B5: the end of one mount answers no other one at its path: what was processed may have to be removed after it', () => {
  const world = new World({ epoch: 2 });
  world.dispatcher.openSource({ name: 'docs' });
  world.dispatcher.expectRunner('a', 8);
  const removal = { mount: 2, path: 'docs/a', kind: 'delete', source: 'docs', key: 'a', version: 'delete' } as const;
  const runs = [{ order: ROOT, mounts: [{ request: removal, isStarted: false }] }];
  const ended = [{ order: { ...ITEM, version: '1' }, outcome: { kind: 'done', counts: NO_COUNTS } } as const];
  const runner = joinWith(world, 'a', { ...EMPTY_REPORT, runs, ended });
  expect(runner.mountsEnded, 'its mount is not answered').toEqual(new Map());
  expect(runner.paths(), 'it executes').toEqual(['docs/a']);
  world.dispatcher.audit();
});

test('a run that executes is taken over, though another update waits for its component in a back-off', () => {
  const world = new World({ epoch: 2 });
  world.dispatcher.openSource({ name: 'docs' });
  for (const name of ['a', 'b']) world.dispatcher.expectRunner(name, 8);
  const item = { mount: 1, path: 'docs/a', kind: 'item', source: 'docs', version: '1' } as const;
  const root = { ...ROOT, token: { epoch: 1, run: 3, attempt: 1 }, update: 'docs-1-2' };
  join(world, 'a', { order: root, mounts: [{ request: item, isStarted: true }] });
  const executing = join(world, 'b', { order: ITEM, mounts: [] });
  expect(executing.cancels, 'nobody stops it').toEqual(new Map());
  expect(executing.tokens.get(2)).toEqual({ epoch: 2, run: 2, attempt: 1 });
  expect(world.dispatcher.findRuns(({ path }) => path === 'docs/a', 9).map(({ phase }) => phase)).toEqual(
    expect.arrayContaining(['executing', 'following']),
  );
  world.dispatcher.audit();
});

const MOUNT = { mount: 1, path: 'docs/a', kind: 'item', source: 'docs', version: '1' } as const;

test('B7: a mount of which the parent does not know that it started is not executed twice, and the parent hears of it', () => {
  const world = new World({ epoch: 2 });
  world.dispatcher.openSource({ name: 'docs' });
  for (const name of ['a', 'b', 'c']) world.dispatcher.expectRunner(name, 1);
  const root = join(world, 'a', { order: ROOT, mounts: [{ request: MOUNT, isStarted: false }] });
  expect(root.orders, 'it may execute elsewhere').toEqual([]);
  const item = join(world, 'b', { order: { ...ITEM, version: MOUNT.version }, mounts: [] });
  expect(item.cancels).toEqual(new Map());
  expect(item.tokens.get(2)).toEqual({ epoch: 2, run: 2, attempt: 1 });
  expect(root.mountsStarted).toEqual(['1/1']);
  world.do(() => item.uplink.exited(2, { kind: 'done', counts: NO_COUNTS }));
  expect(root.mountsEnded.get('1/1')?.kind).toBe('done');
  world.dispatcher.audit();
});

test('B7: if it executes nowhere it starts when everybody has reported', () => {
  const world = new World({ epoch: 2 });
  world.dispatcher.openSource({ name: 'docs' });
  for (const name of ['a', 'b']) world.dispatcher.expectRunner(name, 1);
  const root = join(world, 'a', { order: ROOT, mounts: [{ request: MOUNT, isStarted: false }] });
  expect(root.orders).toEqual([]);
  world.do(() => world.dispatcher.unexpectRunner('b'));
  expect(root.paths()).toEqual(['docs/a']);
});

test('B7: it waits for ten seconds at the most, and what new runs mount does not wait', () => {
  const world = new World({ epoch: 2 });
  world.dispatcher.openSource({ name: 'docs' });
  for (const name of ['a', 'b']) world.dispatcher.expectRunner(name, 1);
  const root = join(world, 'a', { order: ROOT, mounts: [{ request: MOUNT, isStarted: false }] });
  world.do(() => root.uplink.mount(1, { ...MOUNT, mount: 2, path: 'docs/b' }));
  expect(root.paths()).toEqual(['docs/b']);
  world.do(() => root.exit('docs/b'));
  world.do(() => world.clock.advance(9_999));
  expect(root.paths()).toEqual([]);
  world.do(() => world.clock.advance(1));
  expect(root.paths()).toEqual(['docs/a']);
});

test('F93, B2: runners that have not reported count as full, and those that reported are served at once with the rest', () => {
  const world = new World({ slotsMax: 6, epoch: 2 });
  world.dispatcher.openSource({ name: 'docs' });
  for (const name of ['a', 'b']) world.dispatcher.expectRunner(name, 4);
  const runner = new ScriptedRunner();
  const start = { name: 'a', runnerClass: 'cpu', slots: 4, runner };
  world.do(() => {
    runner.uplink = world.dispatcher.adoptRunner(start, EMPTY_REPORT).uplink;
    world.dispatcher.unexpectRunner('a');
  });
  world.do(() => {
    for (let i = 0; i < 4; i++)
      world.dispatcher.startUpdate({ kind: 'key', source: 'docs', key: `${i}`, trigger: 'test' });
  });
  expect(runner.orders.length, 'six slots, four of which the other one may hold').toBe(2);
  world.do(() => world.dispatcher.unexpectRunner('b'));
  expect(runner.orders.length, 'it is gone').toBe(4);
  world.dispatcher.audit();
});

function join(world: World, name: string, run: RunnerReport['runs'][number]): ScriptedRunner {
  return joinWith(world, name, { ...EMPTY_REPORT, runs: [run] });
}

function joinWith(world: World, name: string, report: RunnerReport): ScriptedRunner {
  const runner = new ScriptedRunner();
  world.do(() => {
    const start = { name, runnerClass: 'cpu', slots: 1, runner };
    runner.uplink = world.dispatcher.adoptRunner(start, report).uplink;
    world.dispatcher.unexpectRunner(name);
  });
  return runner;
}
