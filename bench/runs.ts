// Runs through an operator process and two runner processes, TLS on: throughput of empty runs, fairness of a small update beside a big
// one, and how long a one-file fix waits behind a backlog.
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { systemClock } from '../operator/clock.ts';
import { Dispatcher } from '../operator/dispatch/index.ts';
import { Gateway, type GatewayServer, serveGateway, sharedToken } from '../operator/gateway/index.ts';
import { selfSigned } from '../operator/standalone/index.ts';
import { SpecsSchema } from '../runner/protocol/index.ts';
import type { Bench } from './report.ts';
import { result } from './report.ts';

const HOST = '127.0.0.1';
const EMPTY_RUNS = 200_000;

interface Field {
  readonly dispatcher: Dispatcher;
  /** When the root run of an update asked for a slot; when its first child started. */
  close(): Promise<void>;
}

/** An operator here, and two runners as processes of their own. */
async function field(slotsMax: number, runnerSlots: number): Promise<Field> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
  const { cert, key } = selfSigned([HOST], Date.now());
  writeFileSync(join(folder, 'ca.pem'), cert);
  writeFileSync(join(folder, 'token'), 'bench\n');
  const dispatcher = new Dispatcher({ clock: systemClock, slotsMax, epoch: 1 });
  let joined = 0;
  let tell = () => {};
  const gateway = new Gateway({
    clock: systemClock,
    epoch: 1,
    operator: 'bench',
    pools: { find: () => ({ host: dispatcher, specs: () => create(SpecsSchema, {}) }) },
    defer: setImmediate,
    events: {
      joined: () => {
        joined++;
        tell();
      },
    },
  });
  const server: GatewayServer = await serveGateway({
    gateway,
    authenticate: sharedToken('bench'),
    cert,
    key,
    host: HOST,
    port: 0,
  });
  const runners = [0, 1].map((i) =>
    fork(new URL('./runs-runner.ts', import.meta.url), [
      `https://${HOST}:${server.port}`,
      folder,
      `r${i}`,
      `${runnerSlots}`,
    ]),
  );
  await new Promise<void>((resolve) => {
    tell = () => {
      if (joined === runners.length) resolve();
    };
    tell();
  });
  return {
    dispatcher,
    close: async () => {
      for (const runner of runners) runner.kill('SIGKILL');
      gateway.close('the benchmark ends');
      await server.close();
      rmSync(folder, { recursive: true });
    },
  };
}

interface Work {
  readonly [name: string]: number | string | boolean;
  readonly children: number;
  readonly eachMs: number;
  readonly window: number;
}

/** Runs one update of `children` runs; answers when it ended. `progress` hears how many are done. */
function update(dispatcher: Dispatcher, source: string, work: Work, done?: (count: number) => void): Promise<void> {
  return new Promise((resolve) => {
    dispatcher.startUpdate({
      kind: 'cycle',
      source,
      trigger: 'bench',
      input: work,
      observer: {
        progress: ({ progress }) => done?.(progress.done),
        ended: () => resolve(),
      },
    });
  });
}

async function throughput(): Promise<number> {
  const { dispatcher, close } = await field(1024, 512);
  for (const source of ['a', 'b']) dispatcher.openSource({ name: source });
  const half = { children: EMPTY_RUNS / 2, eachMs: 0, window: 1024 };
  await Promise.all([
    update(dispatcher, 'a', { ...half, children: 5_000 }),
    update(dispatcher, 'b', { ...half, children: 5_000 }),
  ]);
  const startedMs = performance.now();
  await Promise.all([update(dispatcher, 'a', half), update(dispatcher, 'b', half)]);
  const seconds = (performance.now() - startedMs) / 1000;
  await close();
  return EMPTY_RUNS / seconds;
}

/** Runs of the big update that are done when the small one ends; the worst of five rounds. */
async function fairness(keys: number): Promise<number> {
  let worst = 0;
  for (let round = 0; round < 5; round++) {
    const { dispatcher, close } = await field(8, 8);
    dispatcher.openSource({ name: 'big' });
    dispatcher.openSource({ name: 'small' });
    let bigDone = 0;
    const big = update(dispatcher, 'big', { children: 400, eachMs: 10, window: 400 }, (count) => {
      bigDone = count;
    });
    const smalls = Array.from({ length: keys }, () =>
      update(dispatcher, 'small', { children: 40 / keys, eachMs: 10, window: 40 / keys }),
    );
    await Promise.all(smalls);
    worst = Math.max(worst, bigDone);
    await big;
    await close();
  }
  return worst;
}

/** From the release of a slot to the start of a fix that waits for it, behind 400,000 simulated tasks on 1,024 slots. */
async function fixBehindBacklog(): Promise<number> {
  const { dispatcher, close } = await field(1024, 512);
  dispatcher.openSource({ name: 'backlog' });
  dispatcher.openSource({ name: 'fix' });
  void update(dispatcher, 'backlog', { children: 400_000, eachMs: 1_000, window: 400_000 });
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  const waits: number[] = [];
  for (let i = 0; i < 200; i++) {
    const askedMs = performance.now();
    await new Promise<void>((resolve) => {
      dispatcher.startUpdate({
        kind: 'key',
        source: 'fix',
        key: `file-${i}`,
        trigger: 'bench',
        observer: {
          started: () => waits.push(performance.now() - askedMs),
          ended: () => resolve(),
        },
      });
    });
  }
  await close();
  waits.sort((a, b) => a - b);
  return waits[Math.floor(waits.length * 0.99)]!;
}

export const runs: Bench = async () => [
  result('runs-per-second', await throughput(), 'runs/s'),
  result('fair-big-done', await fairness(1), 'runs'),
  result('fair-tree-big-done', await fairness(4), 'runs'),
  result('fix-behind-400k-p99-ms', await fixBehindBacklog(), 'ms'),
];
