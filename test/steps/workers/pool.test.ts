// Worker threads. The claims W1 to W5 are those of runner/steps/workers/pool.ts.
import { execFileSync } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { openWorkerPool, type PoolOptions, type WorkerPool } from '../../../runner/steps/workers/pool.ts';
import { settle, VirtualClock } from '../../support/virtual-clock.ts';

const url = new URL('./misbehaving-worker.ts', import.meta.url);
let pool: WorkerPool | undefined;
afterEach(() => pool?.close());

function open(options: PoolOptions = {}): WorkerPool {
  pool = openWorkerPool({ threads: 1, url, ...options });
  return pool;
}

const run = <T = unknown>(task: string, input: unknown = task, signal?: AbortSignal): Promise<T> =>
  pool!.run<T>(task, input, { label: String(input), ...(signal === undefined ? {} : { signal }) });

test('tasks run in the order in which they were asked for (W1)', async () => {
  open();
  const done: number[] = [];
  await Promise.all(Array.from({ length: 20 }, (_, i) => run('echo', i).then(() => done.push(i))));
  expect(done).toEqual(Array.from({ length: 20 }, (_, i) => i));
});

test('two threads work at the same time, and a third is not started', async () => {
  open({ threads: 2 });
  const shared = new Int32Array(new SharedArrayBuffer(4));
  // Each waits until both have arrived: with one thread this would not end.
  await Promise.all([run('meet', shared), run('meet', shared)]);
  const threads = await Promise.all(Array.from({ length: 30 }, () => run<number>('thread')));
  expect(new Set(threads).size).toBeLessThanOrEqual(2);
});

test('a thread that crashes fails only the task that it executed; those behind it are done by another (W3)', async () => {
  open();
  const results = await Promise.allSettled([run('echo', 1), run('crash', 'a.ts'), run('echo', 2), run('echo', 3)]);
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)))).toEqual([
    1,
    'StepError: crash of a.ts ended its worker thread: exit code 7',
    2,
    3,
  ]);
});

test('an item that needs too much memory fails as invalid, and the next one is done (W3, F6)', async () => {
  open({ heapMiB: 32 });
  const [big, next] = await Promise.allSettled([run('grow', 'big.csv'), run('echo', 1)]);
  expect(big).toMatchObject({
    reason: { class: 'invalid', message: 'grow of big.csv needs more than 32 MiB of memory: too large' },
  });
  expect(next).toMatchObject({ value: 1 });
});

test('a stuck task is ended at the limit, as a timeout, and its thread is replaced (W3)', async () => {
  const clock = new VirtualClock();
  open({ clock, taskLimitMs: 5_000 });
  const shared = new Int32Array(new SharedArrayBuffer(4));
  const stuck = run('stuck', shared);
  const next = run('echo', 'next');
  await arrival(shared);
  clock.advance(5_000);
  await expect(stuck).rejects.toMatchObject({ class: 'timeout' });
  expect(await next).toBe('next');
});

test('an aborted task settles at once with the reason, whether it waits or runs (W4)', async () => {
  open();
  const abort = new AbortController();
  const shared = new Int32Array(new SharedArrayBuffer(4));
  const running = run('wait', shared, abort.signal);
  const waiting = Array.from({ length: 8 }, (_, i) => run('echo', i, abort.signal));
  const other = run('echo', 'other');
  await arrival(shared);
  abort.abort(new Error('the run was cancelled'));
  for (const task of [running, ...waiting]) await expect(task).rejects.toThrow('the run was cancelled');
  Atomics.store(shared, 0, 2);
  Atomics.notify(shared, 0);
  expect(await other).toBe('other');
  await expect(run('echo', 1, abort.signal)).rejects.toThrow('the run was cancelled');
});

test('a failure of a task keeps its class and message, and the thread goes on', async () => {
  open();
  await expect(run('refuse', 'a.ts')).rejects.toMatchObject({ class: 'invalid', message: 'a.ts is refused' });
  await expect(run('unknown')).rejects.toThrow('worker threads know no task "unknown"');
  expect(await run('echo', 1)).toBe(1);
});

test('a thread that asks for it is replaced after its task', async () => {
  open();
  const before = await run('thread');
  expect(await run('retire', 'done')).toBe('done');
  expect(await run('thread')).not.toBe(before);
});

test('a worker file that cannot start fails every task with the reason instead of starting for ever', async () => {
  open({ url: new URL('./no-such-worker.ts', import.meta.url) });
  for (const result of await Promise.allSettled([run('echo', 1), run('echo', 2)])) {
    expect(result).toMatchObject({ reason: { class: 'internal', message: expect.stringContaining('no-such-worker') } });
  }
});

test('closing fails what waits and what runs, and takes nothing more', async () => {
  open();
  const tasks = Array.from({ length: 8 }, (_, i) => run('echo', i));
  const results = Promise.allSettled(tasks);
  await pool!.close();
  for (const result of await results) expect(result.status).toBe('rejected');
  await expect(run('echo', 1)).rejects.toThrow('the worker threads were stopped');
});

test('idle threads do not keep the process alive, a busy one does (W5)', () => {
  const script = `
    import { openWorkerPool } from ${JSON.stringify(new URL('../../../runner/steps/workers/pool.ts', import.meta.url).href)};
    const pool = openWorkerPool({ threads: 1, url: new URL(${JSON.stringify(url.href)}) });
    process.stdout.write(await pool.run('echo', 'done', { label: 'x' }));`;
  expect(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })).toBe('done');
});

/** Until the worker has set the shared number. */
async function arrival(shared: Int32Array): Promise<void> {
  while (Atomics.load(shared, 0) === 0) await settle();
}
