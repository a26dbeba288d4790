// Every serving rule passes one contract: work-conserving (A5), total, in order within an update, repeatable.
import { describe, expect, test } from 'vitest';
import {
  type Contender,
  fewestHeldFirst,
  fifo,
  fixedShare,
  roundRobin,
  type ServingRule,
  strictPriority,
} from '../../operator/admission/index.ts';
import { auditOf } from '../../operator/inspection/index.ts';
import { World } from './world.ts';

const UPDATES = ['big', 'middle', 'small'];

/** Two contenders that differ only in what never repeats: arrival numbers. */
const contender = (name: string, at: number): Contender => ({
  name,
  held: 2,
  weight: 1,
  since: at,
  head: at,
  servedAt: 0,
});

function servingRuleContract(rule: ServingRule, isWorkConserving = true): void {
  describe(`the rule ${rule.name}`, () => {
    test('is total: two contenders never compare as equal, and the two ways of asking agree', () => {
      for (const a of UPDATES) {
        for (const b of UPDATES) {
          const [first, second] = [contender(a, 1), contender(b, 2)];
          expect(Math.sign(rule.compare(first, second))).toBe(-Math.sign(rule.compare(second, first)));
          if (a === b) expect(rule.compare(first, second)).toBeLessThan(0);
        }
      }
    });

    test('serves the runs of one update in order of arrival', () => {
      const world = new World({ slots: 3, rule });
      for (const name of UPDATES) world.askMany(world.update(name), `${name}-`, 9);
      world.drain();
      for (const name of UPDATES) {
        const served = world.order().filter((run) => run.startsWith(name));
        expect(served).toEqual(Array.from({ length: 9 }, (_, i) => `${name}-${i + 1}`));
      }
    });

    test.runIf(isWorkConserving)('leaves no slot idle while somebody waits', () => {
      const world = new World({ slots: 4, rule });
      for (const name of UPDATES) world.askMany(world.update(name), `${name}-`, 20);
      for (let i = 0; i < 50; i++) {
        expect(world.executing()).toHaveLength(4);
        world.end(world.inFlight()[i % 4]!);
      }
      expect(auditOf(world.tree)).toEqual([]);
    });

    test('gives the same order twice', () => {
      const order = (): string[] => {
        const world = new World({ slots: 2, rule });
        for (const name of UPDATES) world.askMany(world.update(name), `${name}-`, 12);
        world.drain();
        return world.order();
      };
      expect(order()).toEqual(order());
    });
  });
}

servingRuleContract(fewestHeldFirst);
servingRuleContract(fifo);
servingRuleContract(roundRobin);
servingRuleContract(strictPriority(UPDATES));
// It keeps idle slots idle on purpose: what it promises instead is below.
servingRuleContract(fixedShare({ big: 1, middle: 1, small: 1 }), false);

test('a fixed share is never exceeded, and is kept free for its update', () => {
  const world = new World({ slots: 4, rule: fixedShare({ big: 3, small: 1 }) });
  const big = world.askMany(world.update('big'), 'b', 10);
  expect(big.filter((run) => run.state === 'granted')).toHaveLength(3);
  expect(world.ask(world.update('small'), 's').state).toBe('granted');
});

test('A7: a fixed share that is used up stops no child whose parent lends it a slot', () => {
  const world = new World({ slots: 4, rule: fixedShare({ nested: 1 }) });
  const nested = world.update('nested');
  const parent = world.ask(nested, 'parent');
  const next = world.ask(nested, 'next');
  const children = world.askMany(nested, 'child', 3, { lender: parent });
  expect([next.state, ...children.map(({ state }) => state)]).toEqual(['waiting', 'granted', 'waiting', 'waiting']);
  for (const child of children) world.end(child);
  expect([next.state, parent.isExecuting]).toEqual(['waiting', true]);
  world.end(parent);
  expect(next.state).toBe('granted');
});
