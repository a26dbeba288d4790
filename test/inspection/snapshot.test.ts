// What people see of the tree.
import { expect, test } from 'vitest';
import { snapshotOf } from '../../operator/inspection/index.ts';
import { World } from '../admission/world.ts';

test('a snapshot shows every branch with what it holds, what waits and since when, in order of opening', () => {
  const world = new World({ slots: 2, rooms: { cpu: 8 } });
  const docs = world.tree.openSource(world.pool, 'docs', { weight: 3, limits: { rows: 10 } });
  const cycle = world.update('cycle', docs);
  const other = world.update('other');
  const parent = world.ask(cycle, 'parent', { runnerClass: 'cpu' });
  world.ask(cycle, 'child', { lender: parent, runnerClass: 'cpu', component: 'c', version: '1', rows: 4 });
  world.ask(other, 'twin', { runnerClass: 'cpu', component: 'c', version: '1' });
  world.askMany(other, 'r', 2, { runnerClass: 'cpu' });
  const { slots, classes, pool } = snapshotOf(world.tree);
  expect(slots).toBe(2);
  expect(classes).toEqual([{ name: 'cpu', size: 8, used: 2 }]);
  expect(pool).toMatchObject({ kind: 'pool', heldSlots: 2, executing: 2, inFlight: 3, waiting: 1, following: 1 });
  expect(pool.children.map(({ name }) => name)).toEqual(['docs', 'other']);
  expect(pool.children[0]).toMatchObject({ kind: 'source', weight: 3, heldSlots: 1, rows: 4, limits: { rows: 10 } });
  expect(pool.children[0]).not.toHaveProperty('since');
  expect(pool.children[0]!.children).toMatchObject([{ kind: 'update', name: 'cycle', inFlight: 2, children: [] }]);
  expect(pool.children[1]).toMatchObject({ waiting: 1, following: 1, since: expect.any(Number) });
});

test('a snapshot is of its moment: what happens afterwards does not change it, and two in a row are equal', () => {
  const world = new World({ slots: 1 });
  const update = world.update('u');
  const run = world.ask(update, 'r');
  world.ask(update, 'next');
  const before = snapshotOf(world.tree);
  expect(snapshotOf(world.tree)).toEqual(before);
  const copy = structuredClone(before);
  world.end(run);
  expect(before).toEqual(copy);
  expect(snapshotOf(world.tree)).not.toEqual(before);
});
