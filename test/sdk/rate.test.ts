// The rate limiter. The claims T1 to T4 are those of runner/sdk/rate.ts; time is virtual.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RateLimiter } from '../../runner/sdk/index.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

/** When each of the wishes is granted, in milliseconds from the start. */
async function grantsOf(limiter: RateLimiter, clock: VirtualClock, wishes: readonly number[]): Promise<number[]> {
  const startMs = clock.nowMs();
  const grants: number[] = [];
  const all = wishes.map((tokens, i) =>
    limiter.acquire(tokens).then(() => {
      grants[i] = clock.nowMs() - startMs;
    }),
  );
  await settle();
  while (clock.step()) await settle();
  await Promise.all(all);
  return grants;
}

const open = (perSecond: number, windowSeconds?: number) => {
  const clock = new VirtualClock();
  return { clock, limiter: new RateLimiter(perSecond, clock, windowSeconds) };
};

const TABLE: { readonly [claim: string]: { rate: number; window?: number; wishes: number[]; want: number[] } } = {
  'the burst goes at once, the rest at the rate': { rate: 2, wishes: [1, 1, 1, 1], want: [0, 0, 500, 1000] },
  'a window of 0 spaces evenly': { rate: 10, window: 0, wishes: [1, 1, 1], want: [0, 100, 200] },
  'a rate below one a second still has a burst of one': { rate: 0.5, wishes: [1, 1], want: [0, 2000] },
  'a wide window saves more up': { rate: 2, window: 2, wishes: [1, 1, 1, 1, 1], want: [0, 0, 0, 0, 500] },
  'a wish above the burst waits until all of it was earned': { rate: 10, wishes: [30, 1], want: [2000, 2100] },
  'a small wish does not overtake a large one': { rate: 10, wishes: [5, 20, 1], want: [0, 1500, 1600] },
};

test.each(Object.entries(TABLE))('%s', async (_, { rate, window, wishes, want }) => {
  const { clock, limiter } = open(rate, window);
  expect(await grantsOf(limiter, clock, wishes)).toEqual(want);
});

test('a rate of 0 or below, and a negative window, are refused', () => {
  for (const rate of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => open(rate)).toThrow('rate must be above 0');
  expect(() => open(1, -1)).toThrow('window must be 0 or more');
});

test('within any stretch of time no more than burst and rate allow is given out, in order (T1, T2)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.double({ min: 0.1, max: 50, noNaN: true }),
      fc.constantFrom(0, 0.5, 1, 3),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 }),
      async (rate, window, wishes) => {
        const { clock, limiter } = open(rate, window);
        const grants = await grantsOf(limiter, clock, wishes);
        const burst = Math.max(1, Math.floor(rate * window));
        for (let from = 0; from < grants.length; from++) {
          let given = 0;
          for (let to = from; to < grants.length; to++) {
            given += wishes[to]!;
            // What the first of the stretch took may have been earned before it.
            const saved = Math.max(burst, wishes[from]!);
            expect(given).toBeLessThanOrEqual(saved + (rate * (grants[to]! - grants[from]!)) / 1000 + 1e-6);
            expect(grants[to]).toBeGreaterThanOrEqual(grants[from]!);
          }
        }
      },
    ),
  );
});

test('saved up tokens never exceed the burst, however long nobody asked (T3)', async () => {
  const { clock, limiter } = open(2);
  clock.advance(3_600_000);
  expect(await grantsOf(limiter, clock, [1, 1, 1])).toEqual([0, 0, 500]);
});

test('a pause holds everyone up, and a shorter one does not end it (T4)', async () => {
  const { clock, limiter } = open(10);
  limiter.pauseUntil(clock.nowMs() + 5_000);
  limiter.pauseUntil(clock.nowMs() + 1_000);
  expect(limiter.pausedForMs()).toBe(5_000);
  expect(await grantsOf(limiter, clock, [1, 1])).toEqual([5_000, 5_000]);
});

test('one that gives up lets the next go on (T2)', async () => {
  const { clock, limiter } = open(10);
  const abort = new AbortController();
  await limiter.acquire(10);
  const large = limiter.acquire(100, abort.signal);
  const small = limiter.acquire(1).then(() => clock.nowMs());
  const startMs = clock.nowMs();
  abort.abort(new Error('cancelled'));
  await expect(large).rejects.toThrow('cancelled');
  expect(limiter.waiting).toBe(1);
  clock.advance(100);
  expect((await small) - startMs).toBe(100);
  await expect(limiter.acquire(1, abort.signal)).rejects.toThrow('cancelled');
});

test('a new rate decides from now on', async () => {
  const { clock, limiter } = open(1);
  await limiter.acquire();
  const next = limiter.acquire().then(() => clock.nowMs());
  const startMs = clock.nowMs();
  clock.advance(500);
  limiter.setRate(50);
  clock.advance(10);
  expect((await next) - startMs).toBe(510);
});
