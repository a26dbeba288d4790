// Metrics: M1 to M4 are the invariants at the head of operator/telemetry/{definitions,registry}.ts.
import { describe, expect, test } from 'vitest';
import {
  DispatchMetrics,
  METRICS,
  MetricRegistry,
  prometheusText,
  SERIES_MAX,
} from '../../operator/telemetry/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const OF = { namespace: 'search', pipeline: 'code-index' };

function registryAt(clock = new VirtualClock()) {
  return { clock, registry: new MetricRegistry(clock) };
}

describe('metrics', () => {
  test('M1, M2: every metric has a unit in its name, a help text, and only labels that are bounded', () => {
    for (const [name, { kind, help, labels, unit }] of Object.entries(METRICS)) {
      expect(name, 'counters end in _total').toMatch(kind === 'counter' ? /_total$/ : /(?<!_total)$/);
      if (unit === 's') expect(name).toMatch(/_seconds(_total)?$/);
      if (unit === 'By') expect(name).toMatch(/_bytes$/);
      expect(help).toMatch(/^[A-Z0-9].*\.$/);
      for (const label of labels) expect(['item', 'run', 'update', 'key']).not.toContain(label);
    }
  });

  test('are served as Prometheus reads them', () => {
    const { registry } = registryAt();
    registry.counter('fairlead_grants_total', { ...OF, outcome: 'loan' }).add(3);
    registry.setGauge('fairlead_slots_limit', OF, 1024);
    const wait = registry.histogram('fairlead_run_wait_seconds', { ...OF, kind: 'item' });
    for (const seconds of [0.0005, 0.02, 99999]) wait.record(seconds);
    const text = prometheusText(registry);
    expect(text).toContain(
      '# TYPE fairlead_grants_total counter\nfairlead_grants_total{namespace="search",pipeline="code-index",outcome="loan"} 3\n',
    );
    expect(text).toContain('fairlead_slots_limit{namespace="search",pipeline="code-index"} 1024\n');
    expect(text).toContain(
      'fairlead_run_wait_seconds_bucket{namespace="search",pipeline="code-index",kind="item",le="0.001"} 1\n',
    );
    expect(text).toContain(
      'fairlead_run_wait_seconds_bucket{namespace="search",pipeline="code-index",kind="item",le="+Inf"} 3\n',
    );
    expect(text).toContain('fairlead_run_wait_seconds_count{namespace="search",pipeline="code-index",kind="item"} 3\n');
    expect(text).not.toContain('otel_scope');
  });

  test('F98, M3: series stay bounded whatever is counted, and what does not fit is counted as other', () => {
    const { registry } = registryAt();
    for (let i = 0; i < SERIES_MAX + 500; i++)
      registry.counter('fairlead_runners_lost_total', { ...OF, pipeline: `p${i}` }).add(1);
    const series = registry.collect().flatMap((metric): unknown[] => metric.dataPoints);
    expect(series).toHaveLength(SERIES_MAX + 1);
    expect(registry.overflowed).toBe(500);
    expect(prometheusText(registry)).toContain('fairlead_runners_lost_total{namespace="other",pipeline="other"} 500\n');
  });

  test('M4: a deleted Pipeline leaves no series behind', () => {
    const { registry } = registryAt();
    registry.setGauge('fairlead_slots_limit', OF, 8);
    registry.setGauge('fairlead_slots_limit', { ...OF, pipeline: 'other' }, 8);
    registry.forget(OF);
    expect(registry.collect().flatMap((metric): unknown[] => metric.dataPoints)).toHaveLength(1);
  });

  test('two reads of one state are equal but for time', () => {
    const { registry } = registryAt();
    registry.observe(() => registry.setGauge('fairlead_leader', {}, 1));
    for (const pipeline of ['b', 'a']) registry.setGauge('fairlead_slots_limit', { ...OF, pipeline }, 1);
    expect(prometheusText(registry)).toBe(prometheusText(registry));
  });

  test('a dispatcher is followed: grants by outcome, waits, runs by how they ended', () => {
    const { registry, clock } = registryAt();
    const metrics = new DispatchMetrics(registry, clock, OF);
    const update = { start: { source: 'docs' }, kind: 'cycle', requestedAtMs: clock.nowMs() } as never;
    const run = {
      number: 1,
      path: 'p',
      kind: 'item',
      update,
      attempt: 1,
      losses: 0,
      requestedAtMs: clock.nowMs(),
      grantedAtMs: clock.nowMs() + 200,
      grantedTo: 'r',
      runnerClass: 'cpu',
      milliCards: 0,
    };
    clock.advance(200);
    metrics.granted(run, { isLoan: false, waitedMs: 200, runner: 'r' });
    clock.advance(10);
    metrics.ended(run, { kind: 'superseded' });
    const counts = { unchanged: 0, added: 2, reprocessed: 0, deleted: 0, failed: 1, superseded: 0 };
    metrics.updateEnded(update, { result: 'CompletedWithErrors', counts, outcome: { kind: 'done', counts } });
    const text = prometheusText(registry);
    expect(text).toContain('outcome="waited"} 1\n');
    expect(text).toContain('fairlead_run_wait_seconds_sum{namespace="search",pipeline="code-index",kind="item"} 0.2\n');
    expect(text).toContain('fairlead_run_seconds_sum{namespace="search",pipeline="code-index",kind="item"} 0.01\n');
    expect(text).toContain(
      'fairlead_items_total{namespace="search",pipeline="code-index",source="docs",result="added"} 2\n',
    );
    expect(text).toContain('result="CompletedWithErrors"} 1\n');
  });
});
