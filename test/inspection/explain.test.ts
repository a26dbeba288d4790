// What `why` is made of: the compared keys of the branches, in the words of the rules.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { auditOf, explanationOf, snapshotOf } from '../../operator/inspection/index.ts';
import { World } from '../admission/world.ts';

describe('a run that waits is explained', () => {
  test('for a slot: who comes first at each level with what they hold, and how many grants that makes', () => {
    const world = new World({ slots: 3 });
    const [docs, code] = [world.source('docs'), world.source('code')];
    const [fix, cycle, other] = [world.update('fix', docs), world.update('cycle', docs), world.update('other', code)];
    world.askMany(cycle, 'c', 3);
    world.askMany(fix, 'f', 1);
    world.askMany(other, 'o', 1);
    const [, last] = world.askMany(cycle, 'later', 2);
    const why = explanationOf(world.tree, last!);
    expect(why).toMatchObject({ waitsFor: 'slot', olderRuns: 1, grantsBefore: 2 });
    expect(
      why.levels.map(({ branch, ahead }) => [branch.name, branch.held, ahead.map(({ name, held }) => [name, held])]),
    ).toEqual([
      ['docs', 3, [['code', 0]]],
      ['cycle', 3, [['fix', 0]]],
    ]);
    expect(why).not.toHaveProperty('estimate');
  });

  test('the grants that it names are those that then happen', () => {
    const world = new World({ slots: 1 });
    const held = world.ask(world.update('first'), 'held');
    for (const name of ['a', 'b', 'c']) world.ask(world.update(name), name);
    const run = world.ask(world.update('mine'), 'mine');
    const { grantsBefore } = explanationOf(world.tree, run);
    const before = world.granted.length;
    for (let next: typeof held | undefined = held; run.state === 'waiting' && next; next = world.inFlight()[0])
      world.end(next);
    expect(world.granted.length - before - 1).toBe(grantsBefore);
  });

  test('with history: the time until as many slots have freed, and what that rests on', () => {
    const world = new World({ slots: 4 });
    const runs = world.askMany(world.update('u'), 'r', 12);
    const basis = { runs: 50, meanRunMs: 1_000 };
    expect(explanationOf(world.tree, runs[11]!, basis).estimate).toEqual({ waitMs: 2_000, basis });
    expect(explanationOf(world.tree, runs[11]!, { runs: 0, meanRunMs: 0 })).not.toHaveProperty('estimate');
  });

  test('for room in its class, for a limit, for another run of its component, or for nothing', () => {
    const world = new World({ slots: 8, rooms: { cpu: 8, gpu: 0 } });
    const bounded = world.tree.openSource(world.pool, 'bounded', { limits: { rows: 1 } });
    const [update, limited] = [world.update('u'), world.update('l', bounded)];
    const options = { runnerClass: 'cpu', component: 'c', version: '1' };
    const first = world.ask(update, 'first', options);
    world.ask(limited, 'fills', { runnerClass: 'cpu', rows: 1 });
    const reasons = [
      world.ask(update, 'card', { runnerClass: 'gpu' }),
      world.ask(limited, 'rows', { runnerClass: 'cpu', rows: 1 }),
      world.ask(update, 'twin', options),
      first,
    ].map((run) => explanationOf(world.tree, run));
    expect(reasons.map(({ waitsFor, of }) => [waitsFor, of])).toEqual([
      ['class', 'gpu'],
      ['limit', 'bounded'],
      ['component', String(first.number)],
      ['nothing', undefined],
    ]);
  });

  test('explaining changes nothing', () => {
    const world = new World({ slots: 1 });
    const runs = world.askMany(world.update('u'), 'r', 3);
    const before = snapshotOf(world.tree);
    for (const run of runs) explanationOf(world.tree, run);
    expect(snapshotOf(world.tree)).toEqual(before);
    expect(auditOf(world.tree)).toEqual([]);
  });

  test('as many grants as it names pass before its own at the least, whatever ends and whoever else asks', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat()), fc.integer({ min: 1, max: 6 }), (numbers, slots) => {
        const draw = (below: number): number => (numbers.next().value as number) % below;
        const world = new World({ slots });
        const sources = [world.pool, world.source('a', world.pool, 1 + draw(3)), world.source('b')];
        const updates = Array.from({ length: 6 }, (_, i) => world.update(`u${i}`, sources[draw(3)]!));
        const ask = () => world.ask(updates[draw(6)]!, 'r');
        const endOne = () => world.end(world.inFlight()[draw(world.inFlight().length)]!);
        const asked = Array.from({ length: slots + 3 + draw(30) }, ask);
        for (let step = draw(10); step > 0 && world.inFlight().length > 0; step--) endOne();
        const waiting = asked.filter(({ state }) => state === 'waiting');
        fc.pre(waiting.length > 0);
        const run = waiting[draw(waiting.length)]!;
        const { grantsBefore } = explanationOf(world.tree, run);
        const before = world.granted.length;
        while (run.state === 'waiting') {
          if (draw(3) === 0) ask();
          endOne();
        }
        expect(world.granted.length - before - 1).toBeGreaterThanOrEqual(grantsBefore);
      }),
      { numRuns: 500 },
    );
  });
});
