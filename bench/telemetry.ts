// What metrics and traces cost: CPU time of the engine's empty components and of empty runs through two processes, with nothing, with metrics
// alone, and with metrics and every update traced and exported, in turns, so that a machine that others use treats all alike.
// Each figure is the median of its rounds; its baseline is the same work in the same run without telemetry. CPU time says it, not the clock.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DispatcherOptions, fanOut } from '../operator/dispatch/index.ts';
import { SILENT } from '../operator/log.ts';
import { type OtelSink, openOtel, Telemetry } from '../operator/telemetry/index.ts';
import { systemClock } from '../runner/clock.ts';
import { SqliteState } from '../runner/state/index.ts';
import { versionedItems } from './engine/items.ts';
import { cpuSeconds, GUARD, Local } from './engine/local.ts';
import { type Bench, result } from './report.ts';
import { throughput } from './runs/throughput.ts';

type Mode = 'off' | 'metrics' | 'traces';
const MODES: readonly Mode[] = ['off', 'metrics', 'traces'];
const COMPONENTS = 20_000;
const ENGINE_ROUNDS = 7;
const RUN_ROUNDS = 3;

type Followed = Pick<DispatcherOptions, 'events' | 'traceparentOf'>;

function followed(mode: Mode, sink: OtelSink): Followed {
  if (mode === 'off') return {};
  const telemetry = new Telemetry({ clock: systemClock, traces: mode === 'traces', sink });
  const { events, traceparentOf } = telemetry.follow('bench/bench');
  telemetry.close();
  return { events: fanOut(events), traceparentOf };
}

/** CPU seconds of a first cycle over empty components. */
async function engineRound(options: Followed): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
  const state = new SqliteState({ file: join(folder, 'state.db'), clock: systemClock });
  const epoch = await state.open('next');
  const sources = new Map([['items', { source: versionedItems(COMPONENTS), deleteGuard: GUARD }]]);
  const plan = { component: { steps: [] }, targets: [] };
  const local = new Local({ state, epoch, plan, sources, slots: 1_024, ...options });
  const beganS = cpuSeconds();
  await local.cycle('items');
  const tookS = cpuSeconds() - beganS;
  await state.close();
  rmSync(folder, { recursive: true });
  return tookS;
}

async function runsRound(options: Followed): Promise<number> {
  const { operatorMicros, runnersMicros } = await throughput(options);
  return operatorMicros + runnersMicros;
}

/** Medians by mode over rounds that take turns. */
async function measured(
  rounds: number,
  round: (options: Followed) => Promise<number>,
  sink: OtelSink,
): Promise<Record<Mode, number>> {
  const all: Record<Mode, number[]> = { off: [], metrics: [], traces: [] };
  await round({}); // warms up
  for (let i = 0; i < rounds; i++) for (const mode of MODES) all[mode].push(await round(followed(mode, sink)));
  const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
  return { off: median(all.off), metrics: median(all.metrics), traces: median(all.traces) };
}

const DISCARD =
  "const s = require('node:http').createServer((q, a) => q.resume().on('end', () => a.end('{}'))).listen(0, '127.0.0.1', () => console.log(s.address().port))";

export const telemetry: Bench = async () => {
  // A receiver of its own process, so that its work is not counted.
  const receiver = spawn(process.execPath, ['-e', DISCARD], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(receiver.stdout, 'data')) as [Buffer];
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${`${port}`.trim()}`;
  const sink = await openOtel('bench', process.env, SILENT);
  const engine = await measured(ENGINE_ROUNDS, engineRound, sink);
  const runs = await measured(RUN_ROUNDS, runsRound, sink);
  await sink.close();
  receiver.kill();
  const percent = (part: number, whole: number): number => (part / whole - 1) * 100;
  const micros = (seconds: number): number => (seconds * 1e6) / COMPONENTS;
  return [
    result('engine-metrics-us', micros(engine.metrics), 'us of CPU per component', micros(engine.off)),
    result('engine-traces-us', micros(engine.traces), 'us of CPU per component', micros(engine.off)),
    result('engine-metrics-overhead', percent(engine.metrics, engine.off), '%'),
    result('engine-traces-overhead', percent(engine.traces, engine.off), '%'),
    result('runs-metrics-us', runs.metrics, 'us of CPU per run', runs.off),
    result('runs-traces-us', runs.traces, 'us of CPU per run', runs.off),
    result('runs-metrics-overhead', percent(runs.metrics, runs.off), '%'),
    result('runs-traces-overhead', percent(runs.traces, runs.off), '%'),
  ];
};
