// Empty runs a second through operator and two runners: two sources, each with more runs open than there are slots.
import { type FieldOptions, openField, update } from './field.ts';

const RUNS = 200_000;
const WARM_UP_RUNS = 20_000;
const SLOTS = 1_024;

export interface Throughput {
  readonly runsPerSecond: number;
  /** CPU time of a run, in microseconds: says more than the rate where other work shares the machine. */
  readonly operatorMicros: number;
  readonly runnersMicros: number;
}

export async function throughput(followed: Pick<FieldOptions, 'events' | 'traceparentOf'> = {}): Promise<Throughput> {
  const field = await openField({ slotsMax: SLOTS, runnerSlots: SLOTS / 2, sources: ['a', 'b'], ...followed });
  const both = (runs: number) => {
    const half = { children: runs / 2, eachMs: 0, window: SLOTS };
    return Promise.all(['a', 'b'].map((source) => update(field.dispatcher, source, half)));
  };
  await both(WARM_UP_RUNS);
  const before = await field.cpuMs();
  const startedMs = performance.now();
  await both(RUNS);
  const seconds = (performance.now() - startedMs) / 1000;
  const after = await field.cpuMs();
  await field.close();
  const microsOf = (who: 'operator' | 'runners') => ((after[who] - before[who]) * 1000) / RUNS;
  return { runsPerSecond: RUNS / seconds, operatorMicros: microsOf('operator'), runnersMicros: microsOf('runners') };
}
