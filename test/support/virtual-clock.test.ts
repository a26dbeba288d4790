// The virtual clock against a sorted list: the same timers fire, in the same order, at the same instants.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { VirtualClock } from './virtual-clock.ts';

test('timers fire by due time, those of one instant in the order in which they were set, cancelled ones never', () => {
  const timers = fc.array(fc.record({ delayMs: fc.integer({ min: 0, max: 20 }), cancelled: fc.boolean() }));
  fc.assert(
    fc.property(timers, (plan) => {
      const clock = new VirtualClock(1000);
      const fired: [number, number][] = [];
      plan.forEach(({ delayMs, cancelled }, index) => {
        const cancel = clock.after(delayMs, () => fired.push([clock.nowMs(), index]));
        if (cancelled) cancel();
      });
      clock.advance(20);
      const wanted = plan
        .map(({ delayMs, cancelled }, index) => ({ at: 1000 + delayMs, index, cancelled }))
        .filter(({ cancelled }) => !cancelled)
        .sort((a, b) => a.at - b.at || a.index - b.index)
        .map(({ at, index }) => [at, index]);
      expect(fired).toEqual(wanted);
      expect(clock.pending()).toBe(0);
    }),
  );
});

test('a timer that a timer sets for the same instant fires within the same move', () => {
  const clock = new VirtualClock(0);
  const seen: string[] = [];
  clock.after(5, () => {
    seen.push(`outer at ${clock.nowMs()}`);
    clock.after(0, () => seen.push(`inner at ${clock.nowMs()}`));
  });
  clock.advance(5);
  expect(seen).toEqual(['outer at 5', 'inner at 5']);
});

test('code that awaits between timers sees each instant', async () => {
  const clock = new VirtualClock(0);
  const seen: number[] = [];
  const work = async () => {
    for (let round = 0; round < 3; round++) {
      await new Promise<void>((resolve) => clock.after(10, resolve));
      seen.push(clock.nowMs());
    }
  };
  const working = work();
  await clock.advanceAsync(30);
  await working;
  expect(seen).toEqual([10, 20, 30]);
});
