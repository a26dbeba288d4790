// One object stands for all conditions that are equal (operator/reconcile/objects/shared-conditions.ts).
import { expect, test } from 'vitest';
import { SharedConditions } from '../../operator/reconcile/index.ts';

const ready = (atS: number) => ({ type: 'Ready', status: 'True', lastTransitionTime: `2030-01-01T00:00:${atS}Z` });

test('equal conditions of two objects are one, and others stay apart', () => {
  const shared = new SharedConditions();
  const [first, second] = [shared.of([ready(10), ready(11)]), shared.of([ready(11), ready(12)])];
  expect(second[0]).toBe(first[1]);
  expect([first, second]).toEqual([
    [ready(10), ready(11)],
    [ready(11), ready(12)],
  ]);
});

test('what it remembers is bounded; conditions beyond that are still what they were', () => {
  const shared = new SharedConditions();
  const all = Array.from({ length: 10_000 }, (_, n) => ready(n));
  expect(shared.of(all)).toEqual(all);
  expect(shared.of([ready(9_999)])[0]).toBe(all[9_999]);
  expect(shared.of([ready(1)])[0], 'begun anew meanwhile').not.toBe(all[1]);
});
