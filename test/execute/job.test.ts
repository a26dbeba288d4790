// What the engine makes of orders whose input it does not know, as from a runner of another version: a failure that says so, never a crash.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Json, RunKind } from '../../runner/protocol/index.ts';
import { World } from './world.ts';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.store.close());

const strange: readonly (readonly [RunKind, Json | undefined])[] = [
  ['element', undefined],
  ['element', { component: 'first', element: {} }],
  ['element', { component: 0, element: 'text' }],
  ['module', undefined],
  ['module', []],
  ['module', { module: 0, call: 7, input: null }],
  ['watch', { module: 0, call: 'board', input: null }],
];

test.each(strange)(
  'a run of kind %s with the input %j fails by its path, as one that another runner may do',
  async (kind, input) => {
    const order = { kind, path: 'docs/a/x', source: 'docs', key: 'a', ...(input === undefined ? {} : { input }) };
    expect(await world.desk.root(order).ended).toMatchObject({
      kind: 'failed',
      error: { class: 'transient', message: expect.stringContaining(`a run of kind ${kind} for docs/a/x`) },
    });
    expect(world.engine.runsInFlight).toBe(0);
  },
);
