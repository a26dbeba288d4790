// An operator in this process and runners as processes of their own, TLS on: the field of every figure about runs and cards, and of tests
// that need real processes and no real work.
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { type Clock, systemClock, turnClock } from '../../operator/clock.ts';
import { type DispatchEvents, Dispatcher, type DispatcherOptions } from '../../operator/dispatch/index.ts';
import {
  Gateway,
  type GatewayEvents,
  type GatewayServer,
  type LeaseSettings,
  serveGateway,
  sharedToken,
} from '../../operator/gateway/index.ts';
import { selfSigned } from '../../operator/standalone/index.ts';
import { SpecsSchema } from '../../runner/protocol/index.ts';

const HOST = '127.0.0.1';
const RUNNERS = 2;
const RUNNER = new URL('./runner.ts', import.meta.url);

export interface FieldOptions {
  /** Of the pool. */
  readonly slotsMax: number;
  /** Of each runner. */
  readonly runnerSlots: number;
  readonly sources: readonly string[];
  /** Default: the machine's, as the operator reads it. */
  readonly clock?: Clock;
  readonly events?: DispatchEvents;
  readonly traceparentOf?: DispatcherOptions['traceparentOf'];
  /** Program of the runner processes; default: one whose runs only take time. */
  readonly program?: URL;
  /** Runner processes; default 2. */
  readonly runners?: number;
  readonly gatewayEvents?: GatewayEvents;
  readonly lease?: LeaseSettings;
  /** Something between runners and operator: gives the port that runners dial for the one that the operator listens on. */
  readonly through?: (port: number) => Promise<number>;
}

export interface Field {
  readonly dispatcher: Dispatcher;
  /** CPU time that operator and runners have used so far, in milliseconds. */
  cpuMs(): Promise<{ readonly operator: number; readonly runners: number }>;
  /** Ends a run without a time of its own, on the runner (`r0`, `r1`, ...) that has it. */
  end(runner: string, run: number): void;
  /** Sends a signal to a runner's process. */
  signal(runner: string, signal: NodeJS.Signals): void;
  close(): Promise<void>;
}

export async function openField(options: FieldOptions): Promise<Field> {
  const {
    slotsMax,
    runnerSlots,
    sources,
    events,
    traceparentOf,
    lease,
    through,
    clock = turnClock(systemClock),
    program = RUNNER,
    runners: count = RUNNERS,
  } = options;
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
  const { cert, key } = await selfSigned([HOST], Date.now());
  writeFileSync(join(folder, 'ca.pem'), cert);
  writeFileSync(join(folder, 'token'), 'bench\n');
  const dispatcher = new Dispatcher({
    clock,
    slotsMax,
    epoch: 1,
    ...(events && { events }),
    ...(traceparentOf && { traceparentOf }),
  });
  for (const name of sources) dispatcher.openSource({ name });
  const everybody = Promise.withResolvers<void>();
  let joined = 0;
  const gateway = new Gateway({
    clock,
    epoch: 1,
    operator: 'bench',
    pools: { find: () => ({ host: dispatcher, specs: () => create(SpecsSchema, {}) }) },
    defer: setImmediate,
    ...(lease && { lease }),
    events: {
      ...options.gatewayEvents,
      joined: (...who) => {
        options.gatewayEvents?.joined?.(...who);
        if (++joined === count) everybody.resolve();
      },
    },
  });
  const authenticate = sharedToken('bench');
  const server: GatewayServer = await serveGateway({ gateway, authenticate, cert, key, host: HOST, port: 0 });
  const address = `https://${HOST}:${(await through?.(server.port)) ?? server.port}`;
  const runners = Array.from({ length: count }, (_, i) => fork(program, [address, folder, `r${i}`, `${runnerSlots}`]));
  await everybody.promise;
  return {
    dispatcher,
    cpuMs: async () => {
      const each = await Promise.all(runners.map(cpuMsOf));
      return { operator: ownCpuMs(), runners: each.reduce((sum, one) => sum + one, 0) };
    },
    end: (runner, run) => void runners[Number(runner.slice(1))]?.send(run),
    signal: (runner, signal) => void runners[Number(runner.slice(1))]?.kill(signal),
    close: async () => {
      await Promise.all(runners.map(ended));
      gateway.close('the benchmark ends');
      await server.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function cpuMsOf(runner: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    runner.once('message', (ms) => resolve(Number(ms)));
    runner.send('cpu');
  });
}

function ended(runner: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    runner.once('exit', () => resolve());
    runner.disconnect();
  });
}

/** What the root run of an update is to do: mount `children` runs of `eachMs`, at most `window` open at once; 0: all, one in each turn. */
export interface Work {
  readonly [name: string]: number;
  readonly children: number;
  readonly eachMs: number;
  readonly window: number;
}

/** Runs one update; resolves when it ended. */
export function update(dispatcher: Dispatcher, source: string, work: Work): Promise<void> {
  return new Promise((resolve) => {
    dispatcher.startUpdate({
      kind: 'cycle',
      source,
      trigger: 'bench',
      input: work,
      observer: { ended: () => resolve() },
    });
  });
}
