// The operator with 10,000 LiveSources and 100 Pipelines, as its own process from the bundle, on a real API server and etcd, with a runner of each
// Pipeline on the real link. There is no kubelet, so pods only exist; runners answer each cycle at once with "nothing changed".
// It needs KUBEBUILDER_ASSETS, as `make test-cluster` does. FAIRLEAD_BENCH_SOURCES and FAIRLEAD_BENCH_PIPELINES make it smaller.
import { Fleet } from './operator/fleet.ts';
import { measured } from './operator/load.ts';
import { OperatorProcess } from './operator/process.ts';
import { World } from './operator/world.ts';
import { type Bench, type Result, result } from './report.ts';
import { percentile } from './runs/percentile.ts';

const PIPELINES = Number(process.env.FAIRLEAD_BENCH_PIPELINES ?? 100);
const SOURCES = Number(process.env.FAIRLEAD_BENCH_SOURCES ?? 10_000);
const IDLE_S = 30;
const REFRESH_S = 70; // each source once, and some twice
const APPLIES = 20;

/** A bench of minutes says where it is. */
const say = (text: string): void =>
  void process.stderr.write(`operator, ${Math.round(performance.now() / 1000)} s: ${text}\n`);

export const operator: Bench = async () => {
  const world = await World.start();
  try {
    say('objects are made');
    await world.fill({ pipelines: PIPELINES, sources: SOURCES, interval: '24h' });
    return await measure(world);
  } finally {
    await world.stop();
  }
};

async function measure(world: World): Promise<Result[]> {
  const process_ = await OperatorProcess.start(world);
  const fleet = new Fleet(world, process_.linkPort);
  try {
    return await Promise.race([measureAll(world, process_, fleet), process_.untilEnd()]);
  } finally {
    fleet.close();
    await process_.stop();
  }
}

async function measureAll(world: World, process_: OperatorProcess, fleet: Fleet): Promise<Result[]> {
  say('the operator starts');
  const filledS = await process_.untilLeading();
  say('runners join');
  await fleet.joinAll();
  say('first cycles');
  await fleet.untilCycles(SOURCES);
  say('first statuses');
  const quietS = await process_.untilQuiet();
  say(`idle for ${IDLE_S} s`);
  const idle = await measured(process_, IDLE_S);
  say('further sources are applied');
  const appliedMs: number[] = [];
  for (let n = 0; n < APPLIES; n++) appliedMs.push(await fleet.applyToFirstRun(n));
  say('all are to refresh each minute');
  fleet.countAnew();
  await world.editIntervals('1m');
  await fleet.untilCycles(SOURCES);
  say('the edits are echoed in all statuses');
  fleet.countAnew();
  await fleet.untilCycles(SOURCES);
  say(`refreshing for ${REFRESH_S} s`);
  const refreshing = await measured(process_, REFRESH_S, () => fleet.cycles);
  return [
    result('rss-10k-sources-mib', Math.max(idle.rssMib, refreshing.rssMib), 'MiB'),
    result('rss-10k-sources-idle-mib', idle.rssMib, 'MiB'),
    result('api-requests-per-second-idle', idle.requestsPerS, 'requests/s'),
    result('cpu-idle-percent', idle.cpuPercent, '% of a core'),
    result('api-requests-per-second-refreshing', refreshing.requestsPerS, 'requests/s'),
    result('cpu-refreshing-percent', refreshing.cpuPercent, '% of a core'),
    result('cycles-per-second-refreshing', refreshing.cyclesPerS, 'cycles/s'),
    result('start-to-lead-s', filledS, 's'),
    result('start-to-all-statuses-s', quietS, 's'),
    result('apply-to-first-run-p50-ms', percentile(appliedMs, 50), 'ms'),
    result('apply-to-first-run-max-ms', Math.max(...appliedMs), 'ms'),
  ];
}
