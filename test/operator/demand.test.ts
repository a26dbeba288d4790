// How often a Pipeline is looked at because what waits or executes changed.
import { expect, test } from 'vitest';
import { DemandLooks } from '../../operator/service/demand.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

function looking() {
  const clock = new VirtualClock();
  const looks: string[] = [];
  const queue = {
    add: (key: string) => looks.push(key),
    addAfter: (key: string, delayMs: number) => void clock.after(delayMs, () => looks.push(key)),
  };
  return { clock, looks, demand: new DemandLooks(queue, clock) };
}

test('the first change of a quiet Pipeline is looked at now, those that follow once a second together, the last one included', () => {
  const { clock, looks, demand } = looking();
  for (let change = 0; change < 5; change++) demand.changed('a');
  expect(looks).toEqual(['a']);
  clock.advance(999);
  expect(looks).toEqual(['a']);
  clock.advance(1);
  expect(looks).toEqual(['a', 'a']);
  demand.changed('a');
  clock.advance(1_000);
  expect(looks).toEqual(['a', 'a', 'a']);
  clock.advance(60_000);
  expect(looks).toHaveLength(3);
  demand.changed('a');
  expect(looks).toHaveLength(4);
});

test('a storm of one Pipeline delays no other', () => {
  const { looks, demand } = looking();
  for (let change = 0; change < 5; change++) demand.changed('a');
  demand.changed('b');
  expect(looks).toEqual(['a', 'b']);
});
