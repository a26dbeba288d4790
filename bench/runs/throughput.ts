// Empty runs a second through operator and two runners: two sources, each with more runs open than there are slots.
import { type FieldOptions, openField, update } from './field.ts';

const RUNS = 200_000;
const WARM_UP_RUNS = 20_000;
const SLICE_RUNS = 50_000;
const SLOTS = 1_024;

export interface Throughput {
  readonly runsPerSecond: number;
  /** CPU time of a run, in microseconds: says more than the rate where other work shares the machine. */
  readonly operatorMicros: number;
  readonly runnersMicros: number;
}

export async function throughput(): Promise<Throughput> {
  const { field, both } = await openFlow({});
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

type Followed = Pick<FieldOptions, 'clock' | 'events' | 'traceparentOf'>;

/** The same flow in slices of 50,000 runs; CPU time is that of all three processes. */
export async function openThroughput(followed: Followed) {
  const { field, both } = await openFlow(followed);
  return {
    slice: () => both(SLICE_RUNS),
    cpuMs: async () => {
      const { operator, runners } = await field.cpuMs();
      return operator + runners;
    },
    close: () => field.close(),
  };
}

async function openFlow(followed: Followed) {
  const field = await openField({ slotsMax: SLOTS, runnerSlots: SLOTS / 2, sources: ['a', 'b'], ...followed });
  const both = async (runs: number): Promise<void> => {
    const half = { children: runs / 2, eachMs: 0, window: SLOTS };
    await Promise.all(['a', 'b'].map((source) => update(field.dispatcher, source, half)));
  };
  return { field, both };
}
