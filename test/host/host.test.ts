// A host with a scripted runner on a virtual clock: what specs, people and runners do to one Pipeline. H1 to H6 are the invariants at
// the heads of operator/host.
import { describe, expect, test } from 'vitest';
import type { LiveSourceSpec, PipelineSpec } from '../../crds/schema/index.ts';
import { type HostSpecs, PipelineHost, type SourcePast } from '../../operator/host/index.ts';
import {
  type Census,
  EMPTY_REPORT,
  NO_COUNTS,
  type RunnerReport,
  type RunOutcome,
} from '../../runner/protocol/index.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';
import { pipelineSpec, sourceSpec } from '../support/specs.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

const done = (counts: Partial<typeof NO_COUNTS> = {}): RunOutcome => ({
  kind: 'done',
  counts: { ...NO_COUNTS, ...counts },
});

interface Options {
  readonly past?: SourcePast;
  readonly sources?: Record<string, LiveSourceSpec>;
  /** Runners that an earlier operator had. */
  readonly expected?: readonly string[];
  readonly sleeps?: boolean;
}

function world(options: Options = {}) {
  const clock = new VirtualClock();
  const heard: string[] = [];
  const pipeline = pipelineSpec();
  const specs: HostSpecs = {
    generation: 1,
    pipeline,
    slotsMax: 8,
    sources: new Map(Object.entries(options.sources ?? { docs: sourceSpec({ interval: '60s' }) })),
  };
  const host = new PipelineHost({
    name: 'search/index',
    clock,
    epoch: 1,
    specs,
    past: (source) => (source === undefined ? undefined : options.past),
    sleeps: options.sleeps ?? false,
    observer: {
      demandChanged: () => heard.push('demand'),
      statusChanged: (source) => heard.push(`status of ${source ?? 'the Pipeline'}`),
    },
  });
  for (const pod of options.expected ?? []) host.expectRunner(pod, 4);
  host.start();
  const join = (pod: string) => {
    const runner = new ScriptedRunner();
    const joined = host.addRunner({ name: `${pod}/1`, runnerClass: 'default', slots: 4, runner });
    runner.uplink = joined.uplink;
    return { runner, seat: joined.seat };
  };
  /** A runner of an earlier operator joins with what it holds. */
  const report = (pod: string, runs: RunnerReport['runs'], census?: Census) => {
    const runner = new ScriptedRunner();
    const start = { name: `${pod}/1`, runnerClass: 'default', slots: 4, runner };
    runner.uplink = host.adoptRunner(start, { ...EMPTY_REPORT, runs, ...(census && { census }) }).uplink;
    host.unexpectRunner(pod);
    return runner;
  };
  return { clock, heard, host, specs, join, report };
}

describe('a host', () => {
  test('a new source asks for a runner at once, and its first cycle runs on the first one that joins', async () => {
    const { host, join } = world();
    expect(host.demand().get('default')).toEqual({ executing: 0, waiting: 1 });
    const { runner } = join('pod-0');
    await settle();
    expect(runner.paths()).toEqual(['docs']);
    expect(host.demand().get('default')).toEqual({ executing: 1, waiting: 0 });
    expect(host.runner('pod-0')).toMatchObject({ runs: 1, isDraining: false });
  });

  test('H4: applying the same specs again does nothing', async () => {
    const { host, specs, join } = world();
    const { runner } = join('pod-0');
    await settle();
    for (let i = 0; i < 3; i++) host.apply(specs);
    await settle();
    expect(runner.orders).toHaveLength(1);
  });

  test('H2: a cycle that finds nothing to do leaves no record', async () => {
    const { host, clock, join } = world();
    const { runner } = join('pod-0');
    await settle();
    runner.exit('docs', done({ added: 3 }));
    await settle();
    expect(host.records('docs')?.updates(clock.nowMs())).toHaveLength(1);
    clock.advance(60_000);
    await settle();
    runner.exit('docs', done({ unchanged: 3 }));
    await settle();
    expect(host.records('docs')?.updates(clock.nowMs())).toHaveLength(1);
  });

  test('H3: item counts are what the state holds, as the newest count of any runner says, after a change of operators too', async () => {
    const { host, heard, join } = world({ past: { items: { total: 7, done: 6, failed: 1 } } });
    expect(host.records('docs')?.items).toMatchObject({ total: 7, done: 6, failed: 1 });
    const { runner } = join('pod-0');
    heard.length = 0;
    runner.count('docs', { total: 9, failed: 2, quarantined: 3 }, 20);
    expect(host.records('docs')?.items).toEqual({ total: 9, done: 4, pending: 0, failed: 2, quarantined: 3 });
    expect(heard).toEqual(['status of docs', 'status of the Pipeline']);
    join('pod-1').runner.count('docs', { total: 8 }, 10);
    expect(host.records('docs')?.items.total).toBe(9);
    runner.uplink.counted?.({ atMs: 30, sources: [] });
    expect(host.records('docs')?.items.total).toBe(0);
  });

  test('H3: a runner that comes back to another operator brings the counts along', () => {
    const { host, report } = world();
    const census = { atMs: 5, sources: [{ source: 'docs', total: 4, failed: 0, quarantined: 1 }] };
    report('pod-0', [], census);
    expect(host.records('docs')?.items).toMatchObject({ total: 4, done: 3, quarantined: 1 });
  });

  test('H3: of a first cycle all that it has to do counts, and what is done grows with the state', async () => {
    const { host, join } = world();
    const { runner } = join('pod-0');
    await settle();
    const progress = { listed: true, total: 100, done: 30, counts: { ...NO_COUNTS, added: 30 } };
    runner.uplink.progress(runner.runAt('docs'), progress);
    runner.count('docs', { total: 30 });
    expect(host.records('docs')?.items).toMatchObject({ total: 100, done: 30, pending: 70 });
  });

  test('a source that an earlier operator listed waits its time before it is listed again', async () => {
    const { host, clock } = world({ past: { delayMs: 20_000, items: { total: 7, done: 7 } } });
    expect(host.demand().get('default')?.waiting).toBe(0);
    expect(host.records('docs')?.items.total).toBe(7);
    clock.advance(20_000);
    expect(host.demand().get('default')?.waiting).toBe(1);
  });

  test('H6: a cycle begins when all runners of the operator before have reported, and knows the cycle that goes on', async () => {
    const { report } = world({ expected: ['pod-0', 'pod-1'] });
    const idle = report('pod-0', []);
    await settle();
    expect(idle.orders, 'pod-1 may execute items of a cycle that is open').toEqual([]);
    const cycle = { token: { epoch: 0, run: 7, attempt: 1 }, update: 'docs-0-1', updateOf: 'docs', path: 'docs' };
    const order = { ...cycle, kind: 'cycle', source: 'docs' } as const;
    const progress = { listed: true, total: 9, done: 1, counts: NO_COUNTS };
    report('pod-1', [{ order, mounts: [], progress }]);
    await settle();
    expect(idle.orders).toMatchObject([{ kind: 'cycle', openUpdates: ['docs-0-1', 'docs-1-1'] }]);
  });

  test('H6: while the cycle that goes on still lists, no other one begins', async () => {
    const { host, report } = world({ expected: ['pod-0'] });
    const cycle = { token: { epoch: 0, run: 7, attempt: 1 }, update: 'docs-0-1', updateOf: 'docs', path: 'docs' };
    const runner = report('pod-0', [{ order: { ...cycle, kind: 'cycle', source: 'docs' }, mounts: [] }]);
    await settle();
    expect(runner.orders).toEqual([]);
    expect([...host.dispatcher.updates.keys()]).toEqual(['docs-0-1']);
  });

  test('H6: rows of a source are removed when no runner of the operator before can still write some', async () => {
    const { host, report } = world({ expected: ['pod-0', 'pod-1'], sources: {} });
    const idle = report('pod-0', []);
    host.drop('docs', () => {});
    await settle();
    expect(idle.orders).toEqual([]);
    host.unexpectRunner('pod-1');
    await settle();
    expect(idle.orders).toMatchObject([{ kind: 'delete', path: 'docs' }]);
  });

  test('a source that is watched keeps one runner though nothing runs', () => {
    const { host } = world({ sources: { docs: sourceSpec({ mode: 'Watch', interval: undefined }) } });
    expect(host.demand().get('default')).toEqual({ executing: 0, waiting: 1 });
  });

  test('a drained runner gets nothing more, and says that it is drained when its last run ended', async () => {
    const { host, join, clock } = world();
    const { runner } = join('pod-0');
    await settle();
    host.drainPod('pod-0');
    expect(host.runner('pod-0')).toMatchObject({ isDraining: true, isDrained: false });
    runner.exit('docs', done({ added: 1 }));
    await settle();
    expect(host.runner('pod-0')).toMatchObject({ isDrained: true, idleSinceMs: clock.nowMs() });
    clock.advance(60_000);
    await settle();
    expect(runner.orders).toHaveLength(1);
    expect(host.demand().get('default')?.waiting).toBe(1);
  });

  test('a run that a leaving runner handed back, or that its runner was lost under, asks for a runner again', async () => {
    const { host, join, clock } = world();
    const first = join('pod-0');
    await settle();
    first.runner.exit('docs', { kind: 'parked', resumeAfterMs: 0, error: { class: 'lost', message: 'handed back' } });
    host.removeRunner(first.seat);
    clock.advance(0);
    await settle();
    expect(host.demand().get('default')?.waiting).toBe(1);
    const second = join('pod-1');
    await settle();
    expect(second.runner.orders).toHaveLength(1);
    host.removeRunner(second.seat);
    expect(host.demand().get('default')?.waiting).toBe(1);
  });

  test('an edit of what is done with items makes one update of the whole Pipeline; an edit of slots makes none', async () => {
    const { host, specs, join } = world({ past: { delayMs: 600_000 } });
    const { runner } = join('pod-0');
    host.apply({ ...specs, generation: 2, slotsMax: 16 });
    await settle();
    expect(runner.orders).toEqual([]);
    const component = {
      steps: [{ read: {} }, { split: { by: 'text', chunkSize: 99 } }, { export: { target: 'rows' } }],
    };
    const edited = pipelineSpec();
    host.apply({
      ...specs,
      generation: 3,
      pipeline: { ...edited, component: { ...edited.component, ...component } } as unknown as PipelineSpec,
    });
    await settle();
    expect(runner.orders.map(({ kind }) => kind)).toEqual(['pipeline']);
  });

  test('a host that sleeps does what it is asked for, recorded as all updates are, and nothing by itself until it is woken', async () => {
    const { host, clock, join } = world({ sleeps: true, sources: { docs: sourceSpec({ mode: 'Watch' }) } });
    const { runner } = join('pod-0');
    clock.advance(3_600_000);
    await settle();
    expect(runner.orders).toEqual([]);
    const { name } = host.update({ kind: 'cycle', source: 'docs', trigger: 'once' });
    await settle();
    expect(runner.orders.map(({ kind, update }) => ({ kind, update }))).toEqual([{ kind: 'cycle', update: name }]);
    runner.exit('docs', done({ added: 3 }));
    await settle();
    expect(host.records('docs')?.updates(clock.nowMs())).toMatchObject([
      { name, trigger: 'once', counts: { added: 3 } },
    ]);
    host.wake();
    await settle();
    expect(runner.orders.map(({ kind }) => kind)).toEqual(['cycle', 'watch']);
  });

  test('A11: rows in force hold back runs of all sources together, and runs that wait begin once they are lifted', async () => {
    const { host, specs, join } = world({
      sources: { a: sourceSpec({ interval: '60s' }), b: sourceSpec({ interval: '60s' }) },
    });
    host.apply({ ...specs, generation: 2, limits: { rows: 2 } });
    const { runner } = join('pod-0');
    await settle();
    for (const source of ['a', 'b'])
      for (const mount of [1, 2]) runner.mount(source, { path: `${source}/${mount}`, mount, rows: 1 });
    await settle();
    expect(runner.paths().filter((path) => path.includes('/'))).toHaveLength(2);
    host.apply({ ...specs, generation: 3 });
    await settle();
    expect(runner.paths().filter((path) => path.includes('/'))).toHaveLength(4);
  });

  test('a suspended Pipeline lists nothing; the cycle that was due runs when it goes on', async () => {
    const { host, clock, specs, join } = world({ past: { delayMs: 1_000 } });
    const { runner } = join('pod-0');
    host.apply({ ...specs, generation: 2, pipeline: { ...specs.pipeline, suspend: true } });
    clock.advance(600_000);
    await settle();
    expect(runner.orders).toEqual([]);
    host.apply({ ...specs, generation: 3 });
    await settle();
    expect(runner.paths()).toEqual(['docs']);
  });

  test('H5: dropping a source ends its cycle, removes its rows in one update and tells how that went', async () => {
    const { host, specs, join } = world();
    const { runner } = join('pod-0');
    await settle();
    const results: string[] = [];
    host.drop('docs', ({ result }) => results.push(result));
    host.drop('docs', ({ result }) => results.push(result));
    host.apply({ ...specs, generation: 2, sources: new Map() });
    await settle();
    expect([...runner.cancels.values()]).toEqual(['the LiveSource is being deleted']);
    runner.exit('docs', { kind: 'cancelled', why: 'told so' });
    await settle();
    expect(runner.orders.at(-1)).toMatchObject({ kind: 'delete', path: 'docs', source: 'docs' });
    runner.exit('docs', done({ deleted: 3 }));
    await settle();
    expect(results).toEqual(['Succeeded']);
    expect(host.activity(undefined)).toEqual({ held: 0, waiting: 0, backoff: 0, inFlight: 0 });
  });

  test('a cycle that the delete guard stops is a trouble with the way out; the next good one ends it', async () => {
    const { host, join } = world();
    const { runner } = join('pod-0');
    await settle();
    runner.exit('docs', {
      kind: 'done',
      counts: { ...NO_COUNTS, unchanged: 5 },
      heldDeletes: { missing: 95, known: 100 },
    });
    await settle();
    expect(host.records('docs')?.trouble).toMatchObject({ reason: 'DeleteGuard' });
    expect(host.records('docs')?.trouble?.message).toContain('fairlead.dev/allow-deletes');
    host.wantCycle('docs', { trigger: 'manual', allowDeletes: true });
    await settle();
    expect(runner.orders.at(-1)).toMatchObject({ kind: 'cycle', allowDeletes: true });
    runner.exit('docs', done({ unchanged: 5, deleted: 95 }));
    await settle();
    expect(host.records('docs')?.trouble).toBeUndefined();
  });
});
