// Workers on a virtual clock; N1 to N4 are the invariants at the head of operator/cluster/workers.ts.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Workers, WorkQueue } from '../../operator/cluster/index.ts';
import { type Outcome, SETTLED } from '../../operator/reconcile/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { until } from './kube.ts';

function working(reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>) {
  const clock = new VirtualClock();
  const queue = new WorkQueue(clock, () => 0.5);
  const lead = new AbortController();
  const failures: string[] = [];
  const failed = (key: string) => void failures.push(key);
  const workers = new Workers({ queue, clock, count: 2, signal: lead.signal, deadlineMs: 30_000, reconcile, failed });
  workers.start();
  return { clock, queue, lead, failures, workers };
}

test('N1: a reconcile that hangs is ended after its deadline, and its key is tried again', async () => {
  let tries = 0;
  const { clock, queue, failures, workers } = working(async (_, signal) => {
    tries++;
    if (tries > 1) return SETTLED;
    return await new Promise<Outcome>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  });
  queue.add('a');
  await until(() => tries === 1, 'it is begun');
  clock.advance(30_000);
  await until(() => failures.length === 1, 'it is ended');
  clock.advance(100);
  await until(() => tries === 2, 'it is tried again');
  await workers.stop();
});

test('N1, N2: with the lead all reconciles end, and none of them counts as a failure', async () => {
  const ended: unknown[] = [];
  const { queue, lead, failures, workers } = working(
    (key, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          ended.push(key);
          reject(signal.reason);
        });
      }),
  );
  queue.add('a');
  queue.add('b');
  await until(() => queue.metrics().working === 2, 'both are begun');
  lead.abort(new Error('the lead was lost'));
  await workers.stop();
  expect([ended, failures]).toEqual([['a', 'b'], []]);
});

test('N4: a hundred keys leave turns of the event loop to others, though no reconcile waits for anything', async () => {
  let done = 0;
  const { queue, workers } = working(async () => {
    done++;
    return SETTLED;
  });
  for (let n = 0; n < 100; n++) queue.add(`key-${n}`);
  let turns = 0;
  for (; done < 100; turns++) await nextTurn();
  expect(turns, 'two workers').toBeGreaterThanOrEqual(40);
  await workers.stop();
});
