// The work queue on a virtual clock; Q1 to Q4 are the invariants at the head of operator/cluster/queue.ts.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WorkQueue } from '../../operator/cluster/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const newQueue = (clock = new VirtualClock()) => ({ clock, queue: new WorkQueue(clock, () => 0.5) });

test('Q1: a key that is added three times is handed out once', async () => {
  const { queue } = newQueue();
  for (let i = 0; i < 3; i++) queue.add('a');
  expect(await queue.take()).toBe('a');
  expect(queue.metrics()).toMatchObject({ depth: 0, working: 1 });
});

test('Q1, Q2: a key that changes while it is worked on waits for its worker and is then handed out again', async () => {
  const { queue } = newQueue();
  queue.add('a');
  await queue.take();
  queue.add('a');
  queue.add('b');
  expect(await queue.take()).toBe('b');
  queue.done('a');
  expect(await queue.take()).toBe('a');
});

test('Q3: what a user changed goes before a backlog of routine looks, and cannot hold them back for ever', async () => {
  const { queue, clock } = newQueue();
  queue.add('routine', 'routine');
  clock.advance(1_000);
  queue.add('user', 'user');
  expect(await queue.take()).toBe('user');
  clock.advance(9_500);
  queue.add('later', 'user');
  expect(await queue.take()).toBe('routine');
});

test('Q4: failures of one key back off from 100 ms to 5 minutes, and success forgets them', () => {
  const { queue } = newQueue();
  const delaysMs = Array.from({ length: 14 }, () => queue.addAfterFailure('a'));
  expect(delaysMs[0]).toBe(75);
  expect(delaysMs[1]).toBe(150);
  expect(delaysMs.at(-1)).toBe(225_000);
  queue.forget('a');
  expect(queue.failures('a')).toBe(0);
});

test('of two delayed wishes for a key the earlier one counts', async () => {
  const { queue, clock } = newQueue();
  queue.addAfter('a', 1_000);
  queue.addAfter('a', 5_000);
  expect(queue.metrics().delayed).toBe(1);
  clock.advance(1_000);
  expect(await queue.take()).toBe('a');
  queue.done('a');
  clock.advance(10_000);
  expect(queue.metrics().depth).toBe(0);
});

test('closing gives every taker nothing and forgets what waited', async () => {
  const { queue } = newQueue();
  const taken = queue.take();
  queue.close();
  expect(await taken).toBeUndefined();
  queue.add('a');
  expect(await queue.take()).toBeUndefined();
});

test('Q1, Q2: whatever is added and done at random, no key has two workers and no added key is forgotten', async () => {
  const act = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd'),
    what: fc.constantFrom('add', 'take', 'done', 'later'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 80 }), async (acts) => {
      const { queue, clock } = newQueue();
      const owed = new Set<string>();
      const inHand: string[] = [];
      for (const { key, what } of acts) {
        if (what === 'add') {
          queue.add(key);
          owed.add(key);
        } else if (what === 'later') {
          queue.addAfter(key, 100);
          owed.add(key);
        } else if (what === 'take' && queue.metrics().depth > 0) {
          const taken = (await queue.take())!;
          expect(inHand).not.toContain(taken);
          inHand.push(taken);
          owed.delete(taken);
        } else if (what === 'done' && inHand.length > 0) queue.done(inHand.shift()!);
      }
      clock.advance(1_000);
      for (const key of inHand.splice(0)) queue.done(key);
      while (queue.metrics().depth > 0) {
        const key = (await queue.take())!;
        owed.delete(key);
        queue.done(key);
      }
      expect([...owed]).toEqual([]);
    }),
  );
});
