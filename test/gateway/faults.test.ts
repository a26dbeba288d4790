// The link where networks and user code misbehave: two runner processes, real TLS, and a proxy between them and the operator.
import { expect, onTestFinished, test, vi } from 'vitest';
import { openField, update } from '../../bench/runs/field.ts';
import { startOne } from '../../bench/runs/start.ts';
import type { DispatchEvents } from '../../operator/dispatch/index.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

vi.setConfig({ testTimeout: 180_000 });

const RUNS = 300;
const SLOTS = 8;
const LEASE = { leaseTimeoutMs: 6_000, leaseMarginMs: 1_000, heartbeatMs: 300, handOverMs: 0 };

test('half-open connections are found out, sessions go on over new ones, and no run is lost or done twice', async () => {
  const { run, proxy, done, told } = await fieldBehindProxy();
  const ended = run();
  await done.reach(RUNS / 4);
  proxy.forget();
  await ended;
  expect(told.some((what) => what.endsWith('is silent'))).toBe(true);
  expect(told.filter((what) => what.includes('left'))).toEqual([]);
  expect(done.count).toBe(RUNS);
});

test('runners that are cut off for longer than their lease stop, and what they had is done when the network is back', async () => {
  const { run, proxy, done, told, until } = await fieldBehindProxy();
  const ended = run();
  await done.reach(RUNS / 4);
  proxy.cut();
  await Promise.all(['r0', 'r1'].map((runner) => until(`${runner} left: it was not heard in time`)));
  proxy.heal();
  await ended;
  expect(told.filter((what) => what.endsWith('left: it was not heard in time')).length).toBe(2);
});

test('a runner that is stopped for longer than its lease is not waited for, and begins anew when it goes on', async () => {
  const { run, signal, done, told, until } = await fieldBehindProxy();
  const ended = run();
  await done.reach(RUNS / 4);
  const [stopped, other] = done.rootRunner === 'r0' ? ['r1', 'r0'] : ['r0', 'r1'];
  signal(stopped, 'SIGSTOP');
  try {
    await until(`${stopped} left: it was not heard in time`);
    await ended;
  } finally {
    signal(stopped, 'SIGCONT');
  }
  await until(`${stopped} joined again`);
  expect(done.count, 'each run once').toBe(RUNS);
  expect(told.filter((what) => what.startsWith(other))).toEqual([]);
});

test('on a slow network everything is done, and nobody is taken for dead', async () => {
  const { run, proxy, done, told } = await fieldBehindProxy();
  proxy.delay(100);
  await run();
  expect(done.count).toBe(RUNS);
  expect(told.filter((what) => what.includes('left'))).toEqual([]);
});

test('user code that blocks its thread for longer than the lease does not stop the heartbeat', async () => {
  const { dispatcher, told, done } = await fieldBehindProxy();
  await startOne(dispatcher, 'a', 'blocking', { blocksMs: LEASE.leaseTimeoutMs + 2_000 });
  expect(done.lostRuns).toBe(0);
  expect(told).toEqual([]);
});

async function fieldBehindProxy() {
  const proxy = new TcpProxy();
  const done = new Done();
  const told: string[] = [];
  const joined = new Set<string>();
  const waiting = new Map<string, () => void>();
  const tell = (what: string) => {
    told.push(what);
    waiting.get(what)?.();
  };
  const until = (what: string) =>
    new Promise<void>((resolve) => {
      if (told.includes(what)) resolve();
      else waiting.set(what, resolve);
    });
  const field = await openField({
    slotsMax: SLOTS,
    runnerSlots: SLOTS / 2,
    sources: ['a'],
    events: done,
    lease: LEASE,
    gatewayEvents: {
      joined: (runner) => (joined.has(runner) ? tell(`${runner} joined again`) : joined.add(runner)),
      silent: (runner) => tell(`${runner} is silent`),
      left: (runner, why) => tell(`${runner} left: ${why}`),
    },
    through: (port) => proxy.listen(port),
  });
  onTestFinished(async () => {
    await field.close();
    proxy.close();
  });
  const { dispatcher, signal } = field;
  const run = () => update(dispatcher, 'a', { children: RUNS, eachMs: 20, window: RUNS });
  return { dispatcher, signal, proxy, done, told, run, until };
}

/** Counts items that are done. */
class Done implements DispatchEvents {
  count = 0;
  lostRuns = 0;
  /** Where the run is that mounts all others. */
  rootRunner = '';
  #wanted = Number.POSITIVE_INFINITY;
  #tell = () => {};

  reach(count: number): Promise<void> {
    this.#wanted = count;
    return new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  granted: NonNullable<DispatchEvents['granted']> = ({ kind }, { runner }) => {
    if (kind === 'cycle') this.rootRunner = runner.split('/')[0]!;
  };

  lost = (): void => {
    this.lostRuns++;
  };

  ended: NonNullable<DispatchEvents['ended']> = ({ kind }, outcome) => {
    if (kind !== 'item' || outcome.kind !== 'done') return;
    if (++this.count >= this.#wanted) this.#tell();
  };
}
