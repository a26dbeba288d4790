// What a runner tells of the items that the state holds; N1 to N3 are the invariants at the head of runner/execute/census-taker.ts.
import { beforeEach, describe, expect, test } from 'vitest';
import { CensusTaker } from '../../runner/execute/census-taker.ts';
import type { Census } from '../../runner/protocol/index.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { World } from './world.ts';

const items = (total: number, atMs = 0): Census => ({
  atMs,
  sources: [{ source: 'docs', total, failed: 0, quarantined: 0 }],
});

describe('a census', () => {
  test('N2, N3: commits that come at once are one count; those during a count make one more, and an equal one is not told', async () => {
    const clock = new VirtualClock();
    const told: number[] = [];
    const answers: ((census: Census) => void)[] = [];
    const taker = new CensusTaker(
      () => new Promise((resolve) => answers.push(resolve)),
      clock,
      ({ sources }) => told.push(sources[0]!.total),
    );
    for (let commit = 0; commit < 3; commit++) taker.changed();
    clock.advance(2_500);
    expect(answers).toHaveLength(1);
    taker.changed();
    answers[0]!(items(3));
    await settle();
    clock.advance(2_500);
    expect([answers.length, told]).toEqual([2, [3]]);
    answers[1]!(items(3, 9));
    await settle();
    clock.advance(60_000);
    expect([answers.length, told]).toEqual([2, [3]]);
  });

  test('N2: a count that takes long is made the more seldom', async () => {
    const clock = new VirtualClock();
    const answers: ((census: Census) => void)[] = [];
    const taker = new CensusTaker(
      () => new Promise((resolve) => answers.push(resolve)),
      clock,
      () => {},
    );
    taker.changed();
    clock.advance(2_500);
    clock.advance(100);
    answers[0]!(items(1));
    await settle();
    taker.changed();
    clock.advance(9_000);
    expect(answers).toHaveLength(1);
    clock.advance(1_000);
    expect(answers).toHaveLength(2);
  });

  test('N3: one that fails is made up for after the next commit', async () => {
    const clock = new VirtualClock();
    const told: Census[] = [];
    let isAway = true;
    const taker = new CensusTaker(
      async () => {
        if (isAway) throw new Error('away');
        return items(1);
      },
      clock,
      (census) => told.push(census),
    );
    taker.changed();
    clock.advance(2_500);
    await settle();
    isAway = false;
    taker.changed();
    clock.advance(2_500);
    await settle();
    expect(told).toEqual([items(1)]);
  });
});

describe('an engine', () => {
  let world: World;
  beforeEach(async () => {
    world = await World.open();
    return () => world.state.close();
  });

  const counted = async (): Promise<Census['sources'] | undefined> => {
    world.clock.advance(2_500);
    await settle();
    return world.desk.censuses.at(-1)?.sources;
  };

  test('N1: it tells what the state holds when it begins, and after what changed it; another process finds the same', async () => {
    expect(await counted()).toEqual([]);
    world.source.write('a', 'one');
    world.source.write('b', 'two');
    await world.cycle();
    expect(await counted()).toEqual([{ source: 'docs', total: 2, failed: 0, quarantined: 0 }]);
    world.source.remove('a');
    await world.key('a');
    expect(await counted()).toEqual([{ source: 'docs', total: 1, failed: 0, quarantined: 0 }]);
    await world.restart();
    expect(await counted()).toEqual([{ source: 'docs', total: 1, failed: 0, quarantined: 0 }]);
  });

  test('N3: a cycle that finds nothing to do counts nothing', async () => {
    world.source.write('a', 'one');
    await world.cycle();
    await counted();
    const before = world.desk.censuses.length;
    await world.cycle();
    await counted();
    expect(world.desk.censuses).toHaveLength(before);
  });
});
