// Live sources and their watchers: A8, D8, V1 to V4, and what triggers see of them.
import { expect, test } from 'vitest';
import { DRAIN_MAX_MS } from '../../operator/dispatch/watchers.ts';
import type { SourceChange } from '../../runner/protocol/index.ts';
import { DONE, FAILED } from '../support/scripted-runner.ts';
import { World } from './world.ts';

const change = (key: string): SourceChange => ({ key, kind: 'changed', seenAtMs: 1 });

test('V1: a watcher takes no slot and stands on the runner with the fewest watchers', () => {
  const world = new World({ slotsMax: 1 });
  const a = world.runner('a', 1);
  const b = world.runner('b', 1);
  for (const name of ['one', 'two', 'three', 'four']) {
    world.dispatcher.openSource({ name });
    world.do(() => world.dispatcher.watchSource(name));
  }
  expect([a.runner.paths(), b.runner.paths()]).toEqual([
    ['one', 'three'],
    ['two', 'four'],
  ]);
  world.update();
  expect([...a.runner.paths(), ...b.runner.paths()], 'the only slot is free for an update').toContain('');
});

test('what a watcher sees reaches whoever opened the source', () => {
  const world = new World();
  const { runner } = world.runner('a');
  const seen: string[] = [];
  world.dispatcher.openSource({ name: 'docs', onChanged: (changes) => seen.push(...changes.map(({ key }) => key)) });
  world.do(() => world.dispatcher.watchSource('docs'));
  world.do(() => runner.uplink.changed(runner.runAt('docs'), [change('a.md'), change('b.md')]));
  expect(seen).toEqual(['a.md', 'b.md']);
});

test('V2: a watcher that ends is started again, later each time, and at once after a runner was lost', () => {
  const world = new World();
  const a = world.runner('a');
  world.dispatcher.openSource({ name: 'docs' });
  world.do(() => world.dispatcher.watchSource('docs'));
  world.do(() => a.runner.exit('docs', FAILED));
  expect(a.runner.paths()).toEqual([]);
  world.do(() => world.clock.advance(1000));
  world.do(() => a.runner.exit('docs', FAILED));
  world.do(() => world.clock.advance(1999));
  expect(a.runner.paths()).toEqual([]);
  world.do(() => world.clock.advance(1));
  expect(a.runner.paths()).toEqual(['docs']);
  const b = world.runner('b');
  world.do(() => world.dispatcher.removeRunner(a.seat));
  expect(b.runner.orders).toMatchObject([{ kind: 'watch', token: { attempt: 4 } }]);
});

test('a watcher that is not wanted any more stops, and can be wanted again', () => {
  const world = new World();
  const { runner } = world.runner('a');
  world.dispatcher.openSource({ name: 'docs' });
  world.do(() => world.dispatcher.watchSource('docs'));
  world.do(() => world.dispatcher.unwatchSource('docs'));
  expect(runner.cancels.size).toBe(1);
  world.do(() => runner.exit('docs', { kind: 'cancelled', why: 'unwatched' }));
  world.do(() => world.clock.advance(100_000));
  expect(runner.paths()).toEqual([]);
  world.do(() => world.dispatcher.watchSource('docs'));
  expect(runner.paths()).toEqual(['docs']);
});

test('D8: closing a source stops its watcher and its updates, and leaves no run behind', () => {
  const world = new World({ slotsMax: 1 });
  const { runner } = world.runner('a', 1);
  world.dispatcher.openSource({ name: 'docs' });
  world.do(() => world.dispatcher.watchSource('docs'));
  const running = world.update({ source: 'docs' });
  const waiting = world.update({ source: 'docs' });
  world.do(() => world.dispatcher.closeSource('docs', 'it was deleted'));
  expect(world.endings, 'what waits ends at once').toEqual([`${waiting} Cancelled`]);
  for (const run of runner.cancels.keys()) {
    world.do(() => runner.uplink.exited(run, { kind: 'cancelled', why: 'it was deleted' }));
  }
  expect(world.endings).toEqual([`${waiting} Cancelled`, `${running} Cancelled`]);
  expect(world.dispatcher.liveRuns).toBe(0);
  world.dispatcher.openSource({ name: 'docs' });
});

test('a cycle is told which updates are open, so that it adopts no work of theirs', () => {
  const world = new World();
  const { runner } = world.runner('a');
  world.dispatcher.openSource({ name: 'docs' });
  const first = world.update({ source: 'docs' });
  const second = world.update({ source: 'docs', allowDeletes: true, releaseQuarantined: true });
  expect(runner.orders[1]).toMatchObject({
    openUpdates: [first, second],
    allowDeletes: true,
    releaseQuarantined: true,
  });
});

test('an update of the whole Pipeline is told too: it takes over what dead ones left of every source', () => {
  const world = new World();
  const { runner } = world.runner('a');
  world.dispatcher.openSource({ name: 'docs' });
  const cycle = world.update({ source: 'docs' });
  const whole = world.update({ kind: 'pipeline' });
  expect(runner.orders[1]).toMatchObject({ kind: 'pipeline', openUpdates: [cycle, whole] });
});

test('A8: updates of a mounted live source borrow the slot of the run that mounted it, while that lasts', () => {
  const world = new World({ slotsMax: 1 });
  const { runner } = world.runner('a', 1);
  const name = world.update();
  world.do(() => runner.mount('', { path: 'live', kind: 'watch', mount: 1 }));
  world.do(() => runner.mount('live', { path: 'live/a', mount: 1 }));
  world.do(() => runner.mount('live', { path: 'live/b', mount: 2 }));
  expect(runner.paths(), 'one at a time on the borrowed slot').toEqual(['', 'live', 'live/a']);
  const watcher = runner.runAt('live');
  world.do(() => runner.exit('live/a'));
  expect(runner.mountsEnded.get(`${watcher}/1`)).toEqual(DONE);
  expect(runner.paths()).toEqual(['', 'live', 'live/b']);
  world.do(() => runner.exit(''));
  expect(world.endings, 'the update ends though its live source goes on').toEqual([`${name} Succeeded`]);
  world.do(() => runner.exit('live/b'));
  world.do(() => runner.mount('live', { path: 'live/c', mount: 3 }));
  expect(runner.paths(), 'afterwards its updates take slots from the pool').toEqual(['live', 'live/c']);
});

test('V3: a live source that is mounted again replaces the older one, which gets its time to end', () => {
  const world = new World();
  const { runner } = world.runner('a');
  world.update();
  world.update();
  const [first, second] = [...runner.running.keys()] as [number, number];
  world.do(() => runner.uplink.mount(first, { path: 'live', kind: 'watch', mount: 1 }));
  const old = runner.runAt('live');
  world.do(() => runner.uplink.mount(second, { path: 'live', kind: 'watch', mount: 1 }));
  expect(runner.cancels.get(old)).toBe('mounted again');
  expect(runner.paths().filter((path) => path === 'live').length, 'one watcher at a time').toBe(1);
  world.do(() => runner.exit('live', { kind: 'cancelled', why: 'mounted again' }));
  expect(runner.paths().filter((path) => path === 'live').length).toBe(1);

  world.do(() => runner.uplink.mount(first, { path: 'live', kind: 'watch', mount: 2 }));
  world.do(() => world.clock.advance(DRAIN_MAX_MS));
  expect(runner.orders.filter(({ path }) => path === 'live').length, 'a wedged one holds nobody up').toBe(3);
});

test('V3: a live source that is mounted again in the same version is the one that is there', () => {
  const world = new World();
  const { runner } = world.runner('a');
  world.update();
  world.do(() => runner.mount('', { path: 'live', kind: 'watch', mount: 1, version: 'v1' }));
  const watcher = runner.runAt('live');
  world.do(() => runner.mount('', { path: 'live', kind: 'watch', mount: 2, version: 'v1' }));
  expect(runner.runAt('live')).toBe(watcher);
  expect(runner.cancels.has(watcher)).toBe(false);
  world.do(() => runner.mount('', { path: 'live', kind: 'watch', mount: 3, version: 'v2' }));
  expect(runner.cancels.get(watcher)).toBe('mounted again');
});

test('D8: closing a source stops the live sources that its components mounted', () => {
  const world = new World();
  const { runner } = world.runner('a');
  world.dispatcher.openSource({ name: 'docs' });
  world.update({ source: 'docs' });
  world.do(() => runner.mount('docs', { path: 'docs/a/live', kind: 'watch', mount: 1 }));
  const watcher = runner.runAt('docs/a/live');
  world.do(() => world.dispatcher.closeSource('docs', 'deleted'));
  expect(runner.cancels.get(watcher)).toBe('deleted');
});

test('D8: closing a source ends what live sources below it have waiting, and its branch goes after theirs', () => {
  const world = new World({ slotsMax: 1 });
  const { runner } = world.runner('a', 1);
  world.dispatcher.openSource({ name: 'docs' });
  world.update({ source: 'docs' });
  world.do(() => runner.mount('docs', { path: 'docs/a/live', kind: 'watch', mount: 1 }));
  world.do(() => runner.exit('docs'));
  const other = world.update();
  world.do(() => runner.mount('docs/a/live', { path: 'docs/a/live/x', mount: 1 }));
  world.do(() => world.dispatcher.closeSource('docs', 'deleted'));
  const open = world.dispatcher.findRuns(() => true, 9).map(({ path }) => path);
  expect(open, 'what waits ends at once').toEqual(expect.not.arrayContaining(['docs/a/live/x']));
  world.do(() => runner.exit('docs/a/live', { kind: 'cancelled', why: 'deleted' }));
  world.dispatcher.audit();
  for (const name of [...world.dispatcher.updates.keys()]) world.dispatcher.cancelUpdate(name, 'the end');
  expect([...world.dispatcher.updates.keys()]).toEqual([other]);
  const branches = world.dispatcher.snapshot().pool.children.map(({ name }) => name);
  expect(branches, 'no branch of it stays').toEqual([other]);
});

test('V4: removing a component waits for the live sources below it to stop', () => {
  const world = new World();
  const { runner } = world.runner('a');
  world.update();
  world.do(() => runner.mount('', { path: 'x/live', kind: 'watch', mount: 1 }));
  world.do(() => runner.mount('', { path: 'x', kind: 'delete', mount: 2 }));
  expect(runner.paths()).toEqual(['', 'x/live']);
  world.do(() => runner.exit('x/live', { kind: 'cancelled', why: 'removed' }));
  expect(runner.paths()).toEqual(['', 'x']);
});
