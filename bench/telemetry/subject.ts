// A process of the benchmark `telemetry` that works in slices: `subject.ts engine|runs MODE`. It has one mode alone: another one would change what the
// compiler made of its code. To each message it answers with the CPU time since the message before and with the wall time of the slice that the
// message asked for, so that spans that are sent after a slice count too.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock, turnClock } from '../../operator/clock.ts';
import { type DispatcherOptions, fanOut } from '../../operator/dispatch/index.ts';
import { SILENT } from '../../operator/log.ts';
import { openOtel, type SpanSink, Telemetry } from '../../operator/telemetry/index.ts';
import { SqliteState } from '../../runner/state/index.ts';
import { versionedItems } from '../engine/items.ts';
import { cpuSeconds, GUARD, Local } from '../engine/local.ts';
import { openThroughput } from '../runs/throughput.ts';
import { KINDS, type Kind, MODES, type Mode } from './modes.ts';

export interface Answer {
  /** Since the message before. */
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** One portion of a kind of work, again and again. */
interface Work {
  slice(): Promise<void>;
  cpuMs(): Promise<number>;
  close(): Promise<void>;
}

/** What follows the dispatcher. */
type Followed = Pick<DispatcherOptions, 'events' | 'traceparentOf'> & { readonly clock: Clock };

const COMPONENTS = 20_000;

function followed(clock: Clock, mode: Mode, sink: SpanSink | undefined): Followed {
  if (mode === 'off' || mode === 'control') return { clock };
  const telemetry = new Telemetry({ clock, traces: mode !== 'metrics', ...(sink && { sink }) });
  const { events, traceparentOf } = telemetry.follow('bench/bench');
  telemetry.close();
  return { clock, events: fanOut(events), traceparentOf };
}

/** A first cycle over empty components, on a state of its own. */
async function engine(options: Followed): Promise<Work> {
  const sources = new Map([['items', { source: versionedItems(COMPONENTS), deleteGuard: GUARD }]]);
  const plan = { component: { steps: [] }, targets: [] };
  return {
    slice: async () => {
      const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
      const state = new SqliteState({ file: join(folder, 'state.db'), clock: systemClock });
      const epoch = await state.open('next');
      await new Local({ state, epoch, plan, sources, slots: 1_024, ...options }).cycle('items');
      await state.close();
      rmSync(folder, { recursive: true });
    },
    cpuMs: async () => cpuSeconds() * 1_000,
    close: async () => {},
  };
}

const WORK: Readonly<Record<Kind, (options: Followed) => Promise<Work>>> = {
  engine,
  runs: (options) => openThroughput(options),
};

const kind = KINDS.find((one) => one === process.argv[2])!;
const mode = MODES.find((one) => one === process.argv[3])!;
const sink = mode === 'unsampled' || mode === 'traces' ? await openOtel('bench', process.env, SILENT) : undefined;
// As `fairlead dev` and the operator have it.
const clock = kind === 'engine' ? systemClock : turnClock(systemClock);
const work = await WORK[kind](followed(clock, mode, sink));
let toldCpuMs = await work.cpuMs();
process.on('message', () => {
  void answer();
});
process.on('disconnect', () => {
  void work.close().finally(() => process.exit());
});
process.send!('ready');

async function answer(): Promise<void> {
  const nowCpuMs = await work.cpuMs();
  const cpuMs = nowCpuMs - toldCpuMs;
  toldCpuMs = nowCpuMs;
  const beganMs = performance.now();
  await work.slice();
  process.send!({ cpuMs, wallMs: performance.now() - beganMs } satisfies Answer);
}
