// How many statuses a second may be written; B1 and B2 are the invariants at the head of operator/reconcile/writer/budget.ts.
import { describe, expect, test } from 'vitest';
import { WriteBudget } from '../../operator/reconcile/writer/budget.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const RATE = { perSecond: 20, perSecondMin: 5, perSecondMax: 200, burst: 50 };
const QUICK_MS = 10;
const SLOW_MS = 600;

function budgetOf() {
  const clock = new VirtualClock();
  return { clock, budget: new WriteBudget(clock, RATE) };
}

/** Writes as fast as the budget lets it for so long; answers how many. */
function write({ clock, budget }: ReturnType<typeof budgetOf>, forMs: number): number {
  const endMs = clock.nowMs() + forMs;
  let count = 0;
  while (clock.nowMs() < endMs) {
    if (budget.waitMs > 0) clock.advance(Math.min(budget.waitMs, endMs - clock.nowMs()));
    if (budget.waitMs > 0) continue;
    budget.spend();
    budget.answered(QUICK_MS, false);
    count++;
  }
  return count;
}

describe('the budget of status writes', () => {
  test('B2: ten thousand statuses that can wait are written within a minute by an API server that answers quickly', () => {
    expect(write(budgetOf(), 60_000)).toBeGreaterThan(10_000);
  });

  test('B2: it never grows above its maximum', () => {
    const world = budgetOf();
    write(world, 60_000);
    expect(world.budget.perSecond).toBe(200);
    expect(write(world, 10_000)).toBeLessThanOrEqual(2_000 + RATE.burst);
  });

  test('B2: a bad moment of many writers halves it once; a bad minute takes it to its minimum, and no lower', () => {
    const { clock, budget } = budgetOf();
    for (let writer = 0; writer < 6; writer++) budget.answered(SLOW_MS, false);
    expect(budget.perSecond).toBe(10);
    for (let second = 0; second < 60; second++) {
      clock.advance(1_000);
      budget.answered(QUICK_MS, true);
    }
    expect(budget.perSecond).toBe(5);
  });

  test('B2: an answer that is neither quick nor slow leaves it as it is', () => {
    const { budget } = budgetOf();
    budget.answered(300, false);
    expect(budget.perSecond).toBe(20);
  });

  test('B1: a storm of urgent writes uses the budget up and leaves no debt', () => {
    const { clock, budget } = budgetOf();
    for (let urgent = 0; urgent < 500; urgent++) budget.spend();
    expect(budget.waitMs).toBe(50);
    clock.advance(50);
    expect(budget.waitMs).toBe(0);
  });
});
