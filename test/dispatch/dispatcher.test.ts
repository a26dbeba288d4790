// What becomes of runs between the tree and runners: D1 to D8, D10, P1 to P4, A7 to A10, A13, with runners that the test plays.
import { expect, test } from 'vitest';
import type { FencingToken, RunNumber, RunOutcome } from '../../runner/protocol/index.ts';
import { DONE, FAILED, ScriptedRunner } from '../support/scripted-runner.ts';
import { World } from './world.ts';

test('an update runs its root on a runner and ends with what that one counted', () => {
  const world = new World();
  const { runner } = world.runner('a');
  const name = world.update();
  expect(runner.orders).toMatchObject([
    { kind: 'pipeline', update: name, trigger: 'test', token: { epoch: 1, attempt: 1 } },
  ]);
  world.do(() => runner.exit(''));
  expect(world.endings).toEqual([`${name} Succeeded`]);
  expect(world.dispatcher.liveRuns).toBe(0);
});

test('runs that come before the first runner start when one joins', () => {
  const world = new World();
  world.update();
  const { runner } = world.runner('a');
  expect(runner.paths()).toEqual(['']);
});

test('D1: each mount is answered once, with its start and its end', () => {
  const world = new World();
  const { runner } = world.runner('a');
  world.update();
  const root = runner.runAt('');
  world.do(() => runner.mount('', { path: 'x', mount: 7 }));
  expect(runner.mountsStarted).toEqual([`${root}/7`]);
  world.do(() => runner.exit('x', { kind: 'done', counts: { ...DONE_COUNTS, added: 3 }, value: 'v' }));
  expect(runner.mountsEnded.get(`${root}/7`)).toMatchObject({ kind: 'done', value: 'v', counts: { added: 3 } });
});
const DONE_COUNTS = { unchanged: 0, added: 0, reprocessed: 0, deleted: 0, failed: 0, superseded: 0 };

test('F66, A7: twenty nested runs complete on one slot', () => {
  const world = new World({ slotsMax: 1 });
  const { runner } = world.runner('a', 1);
  const name = world.update();
  for (let depth = 0; depth < 20; depth++)
    world.do(() => runner.mount(depthPath(depth), { path: depthPath(depth + 1) }));
  expect(runner.paths().length).toBe(21);
  for (let depth = 20; depth >= 0; depth--) world.do(() => runner.exit(depthPath(depth)));
  expect(world.endings).toEqual([`${name} Succeeded`]);
});
const depthPath = (depth: number) => (depth === 0 ? '' : Array.from({ length: depth }, () => 'd').join('/'));

test("A7 A4: with one slot, siblings execute one after another on the parent's slot", () => {
  const world = new World({ slotsMax: 1 });
  const { runner } = world.runner('a', 1);
  world.update();
  world.do(() => {
    for (let i = 0; i < 5; i++) runner.mount('', { path: `x${i}`, mount: i });
  });
  const order: string[] = [];
  for (let i = 0; i < 5; i++) {
    expect(runner.paths().length, 'the parent and one child').toBe(2);
    order.push(runner.paths()[1]!);
    world.do(() => runner.exit(runner.paths()[1]!));
  }
  expect(order).toEqual(['x0', 'x1', 'x2', 'x3', 'x4']);
});

test('P1 P2: children stay with their parent while there is room, then go where the most room is', () => {
  const world = new World();
  const a = world.runner('a', 2);
  const b = world.runner('b', 4);
  world.update();
  expect(b.runner.paths(), 'b has the most room').toEqual(['']);
  world.do(() => {
    for (let i = 0; i < 6; i++) b.runner.mount('', { path: `x${i}`, mount: i });
  });
  expect(b.runner.paths()).toEqual(['', 'x0', 'x1', 'x2', 'x3']);
  expect(a.runner.paths(), 'the parent waits, so b takes four children').toEqual(['x4', 'x5']);
});

test('A12: a run waits for its class of runner while others are served', () => {
  const world = new World();
  const cpu = world.runner('cpu-0', 4, 'cpu');
  world.update();
  world.do(() => {
    cpu.runner.mount('', { path: 'needs-gpu', mount: 1, runnerClass: 'gpu' });
    cpu.runner.mount('', { path: 'any', mount: 2 });
  });
  expect(cpu.runner.paths()).toEqual(['', 'any']);
  const gpu = world.runner('gpu-0', 1, 'gpu');
  expect(gpu.runner.paths()).toEqual(['needs-gpu']);
});

test('A9 F18: a second run of a component waits without a slot and takes over the outcome', () => {
  const world = new World();
  const { runner } = world.runner('a');
  world.dispatcher.openSource({ name: 'one' });
  world.dispatcher.openSource({ name: 'two' });
  world.update({ source: 'one' });
  world.update({ source: 'two' });
  world.do(() => runner.mount('one', { path: 'shared', version: 'v1', mount: 1 }));
  world.do(() => runner.mount('two', { path: 'shared', version: 'v1', mount: 2 }));
  expect(runner.paths()).toEqual(['one', 'two', 'shared']);
  world.do(() => runner.exit('shared', { kind: 'done', counts: { ...DONE_COUNTS, added: 1 }, value: 42 }));
  expect(runner.mountsEnded.get(`${runner.runAt('two')}/2`)).toEqual({
    kind: 'done',
    value: 42,
    counts: { ...DONE_COUNTS, unchanged: 1 },
  });
  expect(runner.paths(), 'it was not executed again').toEqual(['one', 'two']);
});

test('A9 F18: if the first one fails, the one that waited executes', () => {
  const world = new World();
  const { runner } = world.runner('a');
  world.update();
  world.update();
  const [first, second] = [...runner.running.keys()] as [number, number];
  world.do(() => runner.uplink.mount(first, { path: 'shared', version: 'v1', mount: 1, kind: 'module' }));
  world.do(() => runner.uplink.mount(second, { path: 'shared', version: 'v1', mount: 1, kind: 'module' }));
  world.do(() => runner.exit('shared', FAILED));
  expect(runner.paths()).toEqual(['', '', 'shared']);
  expect(runner.mountsEnded.get(`${first}/1`)).toMatchObject({ kind: 'failed' });
});

test("a newer update that took the work over ends the older one's waiting run, which never takes a slot", () => {
  const world = new World({ slotsMax: 1 });
  const { runner } = world.runner('a', 1);
  const older = world.update();
  const root = runner.runAt('');
  world.do(() => {
    runner.mount('', { path: 'busy', mount: 1 });
    runner.mount('', { path: 'item', mount: 2, version: 'v1' });
  });
  world.do(() => runner.uplink.tookOver(runner.runAt('busy'), older, ['item', 'busy', 'nowhere']));
  expect(runner.mountsEnded.get(`${root}/2`)).toEqual({ kind: 'superseded' });
  expect(runner.mountsEnded.has(`${root}/1`), 'what executes goes on').toBe(false);
  world.do(() => runner.exit('busy'));
  expect(runner.orders.map(({ path }) => path)).toEqual(['', 'busy']);
});

test('F63, A13: a parked run holds no slot, its parent hears nothing, and it comes back with the next attempt', () => {
  const world = new World({ slotsMax: 2 });
  const { runner } = world.runner('a', 2);
  world.update();
  world.do(() => runner.mount('', { path: 'x', mount: 1 }));
  world.do(() => runner.mount('', { path: 'y', mount: 2 }));
  world.do(() => runner.mount('', { path: 'z', mount: 3 }));
  expect(runner.paths()).toEqual(['', 'x', 'y']);
  const error = { class: 'rate-limited', message: 'slow down' } as const;
  world.do(() => runner.exit('x', { kind: 'parked', resumeAfterMs: 60_000, error, resume: { at: 3 } }));
  expect(runner.paths(), 'its slot serves another').toEqual(['', 'y', 'z']);
  expect(runner.mountsEnded.size).toBe(0);
  world.do(() => runner.exit('y'));
  world.do(() => world.clock.advance(60_000));
  expect(runner.orders.at(-1)).toMatchObject({ path: 'x', token: { attempt: 2 }, resume: { at: 3 } });
  expect(runner.orders.at(-1)!.losses, 'parking is no loss').toBeUndefined();
});

test('F65: a thousand random cancels leave the pool empty and every count at zero', () => {
  const world = new World({ slotsMax: 16 });
  const { runner } = world.runner('a', 16);
  for (let round = 0; round < 20; round++) {
    const name = world.update();
    const root = [...runner.running.entries()].find(([, { update }]) => update === name)![0];
    world.do(() => {
      for (let i = 0; i < 50; i++) runner.uplink.mount(root, { path: `r${round}/${i}`, mount: i, kind: 'module' });
    });
    for (let i = 0; i < 50; i += 2) world.do(() => runner.uplink.unmount(root, i));
    world.do(() => world.dispatcher.cancelUpdate(name, 'test'));
    for (const run of [...runner.cancels.keys()]) {
      if (runner.running.delete(run)) world.do(() => runner.uplink.exited(run, { kind: 'cancelled', why: 'test' }));
    }
  }
  expect(world.dispatcher.liveRuns).toBe(0);
  expect(world.endings.every((ending) => ending.endsWith('Cancelled'))).toBe(true);
  expect([...world.dispatcher.seats()].map(({ executing }) => executing)).toEqual([0]);
});

test('D7: what a cancelled update mounts meanwhile is refused', () => {
  const world = new World();
  const { runner } = world.runner('a');
  const name = world.update();
  const root = runner.runAt('');
  world.do(() => world.dispatcher.cancelUpdate(name, 'enough'));
  expect(runner.cancels.get(root)).toBe('enough');
  world.do(() => runner.mount('', { path: 'x', mount: 5 }));
  expect(runner.mountsEnded.get(`${root}/5`)).toEqual({ kind: 'cancelled', why: 'enough' });
});

test("F67, D6 F88: a lost runner's runs start elsewhere with a greater token, and their slots come back once", () => {
  const world = new World({ slotsMax: 4 });
  const a = world.runner('a', 4);
  const name = world.update();
  world.do(() => a.runner.mount('', { path: 'x', mount: 1 }));
  world.do(() => a.runner.mount('', { path: 'y', mount: 2 }));
  const b = world.runner('b', 4);
  world.do(() => world.dispatcher.removeRunner(a.seat));
  expect(b.runner.orders, 'the root starts again; its children are its own to mount again').toMatchObject([
    { path: '', token: { attempt: 2 } },
  ]);
  expect(b.runner.orders[0]!.losses, 'the root waited for children: it took nothing down').toBeUndefined();
  world.do(() => a.runner.exit('x'));
  expect(b.runner.mountsEnded.size, 'D2: a lost runner has nothing to say').toBe(0);
  world.do(() => b.runner.exit(''));
  expect(world.endings).toEqual([`${name} Succeeded`]);
  expect(world.dispatcher.liveRuns).toBe(0);
});

test("a child of a lost parent goes on elsewhere, and the parent's next attempt takes its outcome over", () => {
  const world = new World({ slotsMax: 4 });
  const a = world.runner('a', 1);
  world.update();
  const b = world.runner('b', 4);
  world.do(() => a.runner.mount('', { path: 'x', mount: 1, version: 'v1' }));
  world.do(() => a.runner.mount('', { path: 'y', mount: 2, version: 'v1' }));
  expect([a.runner.paths(), b.runner.paths()]).toEqual([['', 'x'], ['y']]);
  world.do(() => world.dispatcher.removeRunner(a.seat));
  world.do(() => b.runner.mount('', { path: 'y', mount: 1, version: 'v1' }));
  expect(b.runner.paths(), 'y is not executed twice').toEqual(['y', '']);
  const root = b.runner.runAt('');
  world.do(() => b.runner.exit('y'));
  expect(b.runner.mountsEnded.get(`${root}/1`)).toMatchObject({ kind: 'done', counts: { unchanged: 1 } });
});

test('F7: an item that took down three runners says so in its next order; the others lose nothing', () => {
  const world = new World({ slotsMax: 8 });
  const runners = [world.runner('r0', 8)];
  world.update();
  world.do(() => runners[0]!.runner.mount('', { path: 'poison', mount: 1, version: 'v' }));
  world.do(() => runners[0]!.runner.mount('', { path: 'innocent', mount: 2, version: 'v' }));
  for (let round = 1; round <= 3; round++) {
    runners.push(world.runner(`r${round}`, 8));
    world.do(() => world.dispatcher.removeRunner(runners[round - 1]!.seat));
    const { runner } = runners[round]!;
    world.do(() => runner.mount('', { path: 'poison', mount: 1, version: 'v' }));
    expect(runner.orders.at(-1)).toMatchObject({ path: 'poison', losses: round });
  }
});

test('D10: what the runner of parent and child knows by itself is not told; every other end is', () => {
  const world = new World();
  const link = new LinkEnd();
  const { uplink } = world.dispatcher.addRunner({
    name: 'a',
    runnerClass: 'cpu',
    slots: 8,
    runner: link,
    takesNotes: true,
  });
  const { runner: other } = world.runner('b', 8, 'gpu');
  link.uplink = uplink;
  world.update({ runnerClass: 'cpu' });
  const root = link.runAt('');
  const mounts = [
    { mount: 1, path: 'done', runnerClass: 'cpu' },
    { mount: 2, path: 'failed', runnerClass: 'cpu' },
    { mount: 3, path: 'elsewhere', runnerClass: 'gpu' },
  ];
  world.do(() => {
    for (const mount of mounts) uplink.mount(root, { kind: 'module', ...mount });
  });
  const [done, failed] = link.mounted;
  world.do(() => {
    uplink.exited(done!, DONE);
    uplink.exited(failed!, FAILED);
    other.exit('elsewhere');
  });
  expect([...link.mountsEnded.keys()]).toEqual([`${root}/2`, `${root}/3`]);
  world.do(() => uplink.exited(root, DONE));
  expect(world.dispatcher.liveRuns).toBe(0);
});

test('D10: a child whose next attempt came as an order of its own is told of by the operator', () => {
  const world = new World();
  const link = new LinkEnd();
  const joined = world.dispatcher.addRunner({
    name: 'a',
    runnerClass: 'cpu',
    slots: 1,
    runner: link,
    takesNotes: true,
  });
  link.uplink = joined.uplink;
  world.update({ runnerClass: 'cpu' });
  const root = link.runAt('');
  world.do(() => joined.uplink.mount(root, { mount: 1, path: 'x', kind: 'module' }));
  world.do(() => joined.uplink.exited(link.mounted[0]!, PARKED));
  world.clock.advance(PARKED.resumeAfterMs);
  world.settle();
  const again = link.runAt('x');
  world.do(() => joined.uplink.exited(again, DONE));
  expect([...link.mountsEnded.keys()]).toEqual([`${root}/1`]);
});

const PARKED = {
  kind: 'parked',
  resumeAfterMs: 1_000,
  resume: { left: 1 },
  error: { class: 'transient', message: 'later' },
} as const satisfies RunOutcome;

/** A runner behind a link, which starts children by their mounts. */
class LinkEnd extends ScriptedRunner {
  readonly mounted: RunNumber[] = [];

  startMounted({ run }: FencingToken): void {
    this.mounted.push(run);
  }
}
