// Batching. The claims B1 to B7 are those of runner/sdk/batch.ts; the body of a batch ends only when the test lets it.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Batcher, type BatchOptions, BatchQueue, RetryWithSmallerBatch } from '../../runner/sdk/index.ts';
import { settle } from '../support/virtual-clock.ts';

interface Running {
  readonly items: readonly number[];
  readonly signal: AbortSignal;
  readonly context: string;
  /** Ends the batch: each item doubled, unless other results are given. */
  finish(results?: readonly number[]): Promise<void>;
  fail(error: unknown): Promise<void>;
}

/** Keeps a rejection that the test looks at later from counting as unhandled. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** A batched function that doubles, and the batches that it was asked for. */
function doubling(options: BatchOptions<number> = {}) {
  const batches: Running[] = [];
  const batcher = new Batcher<number, number, string>((items, { signal, context }) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly number[]>();
    const finish = async (results = items.map((item) => item * 2)) => {
      resolve(results);
      await settle();
    };
    const fail = async (error: unknown) => {
      reject(error);
      await settle();
    };
    batches.push({ items, signal, context, finish, fail });
    return promise;
  }, options);
  const call = (item: number, more: { group?: string; signal?: AbortSignal; context?: string } = {}) =>
    handled(batcher.call(item, { context: `caller ${item}`, ...more }));
  return { batches, batcher, call, items: () => batches.map((batch) => batch.items) };
}

test('the first call runs at once, as a batch of its own (B1)', async () => {
  const { call, batches, items } = doubling();
  const result = call(1);
  expect(items()).toEqual([[1]]);
  await batches[0]!.finish();
  expect(await result).toBe(2);
});

test('calls gather while a batch is in progress and leave when it ends (B2)', async () => {
  const { call, batches, items } = doubling();
  const results = [1, 2, 3, 4].map((item) => call(item));
  expect(items()).toEqual([[1]]);
  await batches[0]!.finish();
  expect(items()).toEqual([[1], [2, 3, 4]]);
  await batches[1]!.finish();
  expect(await Promise.all(results)).toEqual([2, 4, 6, 8]);
});

test('a full batch leaves even while another runs (B2)', () => {
  const { call, items } = doubling({ maxSize: 2 });
  for (const item of [1, 2, 3, 4]) call(item).catch(() => undefined);
  expect(items()).toEqual([[1], [2, 3]]);
});

test('calls that come together share the first batch', () => {
  const { batcher, items } = doubling({ maxSize: 3 });
  batcher.callEach([1, 2, 3, 4], { context: '' });
  expect(items()).toEqual([[1, 2, 3]]);
});

test('groups do not mix, and the oldest leaves first (B2, B3)', async () => {
  const { call, batches, items } = doubling();
  for (const [item, group] of [
    [1, 'a'],
    [2, 'b'],
    [3, 'a'],
    [4, 'b'],
  ] as const) {
    void call(item, { group });
  }
  expect(items()).toEqual([[1]]);
  await batches[0]!.finish();
  expect(items()).toEqual([[1], [2, 4]]);
  await batches[1]!.finish();
  expect(items()).toEqual([[1], [2, 4], [3]]);
});

test('functions of one queue wait for each other, functions of two do not (B3)', async () => {
  const queue = new BatchQueue();
  const [first, second, apart] = [doubling({ queue }), doubling({ queue }), doubling()];
  void first.call(1);
  void second.call(2);
  void apart.call(3);
  expect([first.items(), second.items(), apart.items()]).toEqual([[[1]], [], [[3]]]);
  await first.batches[0]!.finish();
  expect(second.items()).toEqual([[2]]);
});

test('a bound on batches in flight holds full ones back, in order', async () => {
  const { call, batches, items } = doubling({ maxSize: 1, queue: new BatchQueue(2) });
  for (const item of [1, 2, 3, 4]) void call(item);
  expect(items()).toEqual([[1], [2]]);
  await batches[1]!.finish();
  expect(items()).toEqual([[1], [2], [3]]);
});

test('bounds on tokens and bytes close a batch, and what is heavier goes alone (B4)', async () => {
  const { call, batches, items } = doubling({ maxTokens: 10, weigh: (item) => ({ tokens: item, bytes: 0 }) });
  for (const item of [1, 4, 6, 5, 25, 2, 3]) void call(item);
  expect(items()).toEqual([[1], [4, 6], [5], [25]]);
  for (const batch of batches.slice(0, 4)) await batch.finish();
  expect(items().at(-1)).toEqual([2, 3]);
  const bytes = doubling({ maxBytes: 10, weigh: (item) => ({ tokens: 0, bytes: item }) });
  for (const item of [1, 6, 6]) void bytes.call(item);
  expect(bytes.items()).toEqual([[1], [6]]);
});

test('too few or too many results fail every caller of the batch (B5)', async () => {
  for (const results of [[2], [2, 4, 6], []]) {
    const { batcher, batches } = doubling();
    const calls = Promise.allSettled(batcher.callEach([1, 2], { context: '' }));
    await batches[0]!.finish(results);
    for (const result of await calls) {
      expect(result).toMatchObject({
        reason: { message: `a batch of 2 items came back with ${results.length} results` },
      });
    }
  }
});

test('an error fails every caller of its batch with that very error, and the next batch runs', async () => {
  const { call, batches } = doubling();
  const first = call(1);
  const second = call(2);
  const error = new TypeError('wrong');
  await batches[0]!.fail(error);
  await expect(first).rejects.toBe(error);
  await batches[1]!.finish();
  expect(await second).toBe(4);
});

test('an ordinary error after a split is confined to its half (B6)', async () => {
  const { batcher, batches, items } = doubling();
  const calls = Promise.allSettled(batcher.callEach([1, 2, 3, 4], { context: '' }));
  await batches[0]!.fail(new RetryWithSmallerBatch());
  expect(items().slice(1)).toEqual([
    [1, 2],
    [3, 4],
  ]);
  await batches[1]!.fail(new Error('half'));
  await batches[2]!.finish();
  expect((await calls).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled']);
});

test('a single item that is still too large fails with the cause, or with the signal where there is none (B6)', async () => {
  const { call, batches } = doubling();
  const cause = new Error('413');
  const [first, second] = [call(1), call(2)];
  const signal = new RetryWithSmallerBatch();
  await batches[0]!.fail(new RetryWithSmallerBatch(cause));
  await expect(first).rejects.toBe(cause);
  await batches[1]!.fail(signal);
  await expect(second).rejects.toBe(signal);
});

test('one bad item of n is found in at most 2n - 1 attempts, and only it fails (B6, F28)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 70 }), fc.nat(), async (count, seed) => {
      const guilty = seed % count;
      let attempts = 0;
      const batcher = new Batcher<number, number>(
        async (items) => {
          attempts++;
          if (items.includes(guilty)) throw new RetryWithSmallerBatch(new Error(`guilty: ${guilty}`));
          return items.map((item) => -item);
        },
        { maxSize: count },
      );
      const calls = batcher.callEach(
        Array.from({ length: count }, (_, i) => i),
        { context: undefined },
      );
      const results = await Promise.allSettled(calls);
      expect(attempts).toBeLessThanOrEqual(2 * count - 1);
      results.forEach((result, i) => {
        if (i === guilty) expect(result).toMatchObject({ reason: { message: `guilty: ${guilty}` } });
        else expect(result).toMatchObject({ value: -i });
      });
    }),
  );
});

test('a cancelled call leaves its batch, and a batch without callers is dropped (B7)', async () => {
  const { call, batches, items } = doubling();
  void call(1);
  const [one, both] = [new AbortController(), new AbortController()];
  const calls = Promise.allSettled([
    call(2, { signal: one.signal }),
    call(3),
    call(4, { group: 'x', signal: both.signal }),
  ]);
  one.abort(new Error('no longer'));
  both.abort(new Error('no longer'));
  await batches[0]!.finish();
  expect(items()).toEqual([[1], [3]]);
  await batches[1]!.finish();
  expect((await calls).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected']);
  expect(items()).toHaveLength(2);
  await expect(call(5, { signal: one.signal })).rejects.toThrow('no longer');
});

test('the signal of a running batch aborts when its last caller cancels, not before (B7)', async () => {
  const { batcher, batches } = doubling();
  const [first, second] = [new AbortController(), new AbortController()];
  const calls = Promise.allSettled([
    ...batcher.callEach([1], { context: '', signal: first.signal }),
    ...batcher.callEach([2], { context: 'oldest', signal: first.signal }),
    ...batcher.callEach([3], { context: '', signal: second.signal }),
  ]);
  await batches[0]!.finish();
  const batch = batches[1]!;
  expect(batch.items).toEqual([2, 3]);
  expect(batch.context).toBe('oldest');
  first.abort(new Error('first'));
  expect(batch.signal.aborted).toBe(false);
  second.abort(new Error('second'));
  expect(batch.signal.aborted).toBe(true);
  expect((await calls).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
});

test('whatever is cancelled at random, every call settles and nothing stays behind', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({ item: fc.nat(20), group: fc.constantFrom('a', 'b'), cancel: fc.boolean(), finish: fc.boolean() }),
        { maxLength: 60 },
      ),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 3 }),
      async (steps, maxSize, maxInFlight) => {
        const { call, batches } = doubling({ maxSize, queue: new BatchQueue(maxInFlight) });
        let finished = 0;
        const calls = steps.map(({ item, group, cancel, finish }) => {
          const abort = new AbortController();
          const result = call(item, { group, signal: abort.signal }).catch((error) => String(error));
          if (cancel) abort.abort('cancelled');
          if (finish && batches.length > finished) void batches[finished++]!.finish();
          return result;
        });
        await settle();
        while (finished < batches.length) await batches[finished++]!.finish();
        const results = await Promise.all(calls);
        results.forEach((result, i) => {
          expect(result).toBe(steps[i]!.cancel ? 'cancelled' : steps[i]!.item * 2);
        });
      },
    ),
  );
});
