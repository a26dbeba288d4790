// Runs through an operator process and two runner processes, TLS on: throughput of empty runs, waits until a run starts, fairness of a small
// update beside a big one, and how long a one-file fix waits behind a backlog.
import type { Bench } from './report.ts';
import { result } from './report.ts';
import { bigDoneWhenSmallEnds } from './runs/fairness.ts';
import { fixBehindBacklog } from './runs/fix.ts';
import { startsWhenIdle } from './runs/idle.ts';
import { percentile } from './runs/percentile.ts';
import { throughput } from './runs/throughput.ts';

export const runs: Bench = async () => {
  const { runsPerSecond, operatorMicros, runnersMicros } = await throughput();
  const idle = await startsWhenIdle();
  const together = await bigDoneWhenSmallEnds({ small: 'cycle', mounting: 'together' });
  const oneByOne = await bigDoneWhenSmallEnds({ small: 'cycle', mounting: 'one by one' });
  const tree = await bigDoneWhenSmallEnds({ small: 'keys', mounting: 'together' });
  const treeOneByOne = await bigDoneWhenSmallEnds({ small: 'keys', mounting: 'one by one' });
  const fix = await fixBehindBacklog('another source');
  const sameSource = await fixBehindBacklog('the same source');
  return [
    result('runs-per-second', runsPerSecond, 'runs/s'),
    result('operator-cpu-per-run', operatorMicros, 'us'),
    result('runners-cpu-per-run', runnersMicros, 'us'),
    result('start-idle-p50-ms', percentile(idle, 50), 'ms'),
    result('start-idle-p99-ms', percentile(idle, 99), 'ms'),
    result('start-full-p50-ms', percentile(fix.sinceRequestMs, 50), 'ms'),
    result('start-full-p99-ms', percentile(fix.sinceRequestMs, 99), 'ms'),
    result('fair-big-done', Math.max(...together), 'runs'),
    result('fair-big-done-mounted-one-by-one', Math.max(...oneByOne), 'runs'),
    result('fair-tree-big-done', Math.max(...tree), 'runs'),
    result('fair-tree-big-done-mounted-one-by-one', Math.max(...treeOneByOne), 'runs'),
    result('fix-behind-400k-p50-ms', percentile(fix.sinceReleaseMs, 50), 'ms'),
    result('fix-behind-400k-p99-ms', percentile(fix.sinceReleaseMs, 99), 'ms'),
    result('fix-in-same-source-p99-ms', percentile(sameSource.sinceReleaseMs, 99), 'ms'),
  ];
};
