// One round of the benchmark `telemetry`, in a process of its own: `node bench/telemetry/round.ts engine|runs off|metrics|traces` prints the CPU time of
// one component, or of one run, in microseconds. The code is warm by then, with this mode alone: another mode would change what the compiler made of it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DispatcherOptions, fanOut } from '../../operator/dispatch/index.ts';
import { SILENT } from '../../operator/log.ts';
import { openOtel, type SpanSink, Telemetry } from '../../operator/telemetry/index.ts';
import { systemClock } from '../../runner/clock.ts';
import { SqliteState } from '../../runner/state/index.ts';
import { versionedItems } from '../engine/items.ts';
import { cpuSeconds, GUARD, Local } from '../engine/local.ts';
import { throughput } from '../runs/throughput.ts';
import { KINDS, type Kind, MODES, type Mode } from './modes.ts';

const COMPONENTS = 20_000;
const WARM_CYCLES = 1;
const CYCLES = 2;

type Followed = Pick<DispatcherOptions, 'events' | 'traceparentOf'>;

function followed(mode: Mode, sink: SpanSink | undefined): Followed {
  if (mode === 'off') return {};
  const telemetry = new Telemetry({ clock: systemClock, traces: mode === 'traces', ...(sink && { sink }) });
  const { events, traceparentOf } = telemetry.follow('bench/bench');
  telemetry.close();
  return { events: fanOut(events), traceparentOf };
}

/** CPU time of first cycles over empty components, each on a state of its own. */
async function engineMicros(options: Followed): Promise<number> {
  let micros = 0;
  for (let cycle = 0; cycle < WARM_CYCLES + CYCLES; cycle++) {
    const took = await cycleMicros(options);
    if (cycle >= WARM_CYCLES) micros += took / CYCLES;
  }
  return micros;
}

async function cycleMicros(options: Followed): Promise<number> {
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
  return (tookS * 1e6) / COMPONENTS;
}

/** CPU time of empty runs, of the operator and of two runner processes together. */
async function runsMicros(options: Followed): Promise<number> {
  const { operatorMicros, runnersMicros } = await throughput(options);
  return operatorMicros + runnersMicros;
}

const MEASURED: Readonly<Record<Kind, (options: Followed) => Promise<number>>> = {
  engine: engineMicros,
  runs: runsMicros,
};

const kind = KINDS.find((one) => one === process.argv[2])!;
const mode = MODES.find((one) => one === process.argv[3])!;
const sink = mode === 'traces' ? await openOtel('bench', process.env, SILENT) : undefined;
const micros = await MEASURED[kind](followed(mode, sink));
await sink?.close();
process.stdout.write(`${micros}\n`, () => process.exit());
