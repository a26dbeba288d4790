// The trace of an update as the operator makes it, on a virtual clock: waits with what was served instead and what decided, failures, what is
// left out, links to causes. U1 to U3 (operator/telemetry/traces/update-trace.ts), R1, R2 (recent.ts), S1 (served.ts).
import { describe, expect, test } from 'vitest';
import type { DispatcherOptions } from '../../operator/dispatch/index.ts';
import type { ExportedSpan, TraceSpan, TraceTree } from '../../operator/telemetry/index.ts';
import { Telemetry } from '../../operator/telemetry/index.ts';
import {
  type Counts,
  EMPTY_REPORT,
  formatTraceparent,
  NO_COUNTS,
  parseTraceparent,
  type RunTrace,
} from '../../runner/protocol/index.ts';
import { World } from '../dispatch/world.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';

const PIPELINE = 'search/code-index';
const DONE = { kind: 'done', counts: NO_COUNTS } as const;

/** A dispatcher whose updates are traced; what would leave the process is in `exported`. */
class TracedWorld extends World {
  readonly exported: ExportedSpan[];
  readonly telemetry: Telemetry;

  constructor(options: Partial<DispatcherOptions> = {}) {
    const exported: ExportedSpan[] = [];
    let random = 0;
    const clocks: { own?: VirtualClock } = {};
    const telemetry = new Telemetry({
      clock: { nowMs: () => clocks.own?.nowMs() ?? 0, after: () => () => {} },
      random: () => (random = (random + 0.137) % 1),
      sink: { isSampled: () => true, put: (span) => exported.push(span) },
    });
    const follower = telemetry.follow(PIPELINE);
    const [metrics, recorder] = follower.events;
    super({ events: { ...bound(metrics), ...bound(recorder) }, traceparentOf: follower.traceparentOf, ...options });
    clocks.own = this.clock;
    this.exported = exported;
    this.telemetry = telemetry;
    follower.attach({
      specs: { slotsMax: 1 },
      sources: ['big', 'fix'],
      activity: (source) => (source === 'fix' ? { held: 1, waiting: 0 } : { held: 9, waiting: 40 }),
    });
  }

  tree(update: string): TraceTree {
    const tree = this.telemetry.traces.get(PIPELINE, update);
    if (tree === undefined) throw new Error(`no trace of ${update}`);
    return tree;
  }
}

const EVENTS = ['updateEnded', 'granted', 'ended', 'parked', 'lost', 'measured'] as const;

/** Methods as plain functions; the recorder's come last, metrics have a test of their own. */
function bound(of: object | undefined): DispatcherOptions['events'] & {} {
  const all = of as Record<string, ((...told: unknown[]) => void) | undefined>;
  return Object.fromEntries(EVENTS.flatMap((name) => (all[name] ? [[name, all[name].bind(of)]] : [])));
}

const flat = (span: TraceSpan): TraceSpan[] => [
  ...(span.wait === undefined ? [] : [span.wait]),
  span,
  ...span.children.flatMap(flat),
];
const named = (tree: TraceTree, name: string): TraceSpan[] => flat(tree.root).filter((span) => span.name === name);
const counts = (part: Partial<Counts>): Counts => ({ ...NO_COUNTS, ...part });
const traceOf = (durationMs: number, ...names: string[]): RunTrace => ({
  startedAtMs: 0,
  durationMs,
  spans: names.map((name, i) => ({ kind: 'step', name, startMs: i, durationMs: 1, count: 2 })),
});

describe('a trace of an update', () => {
  test('F107: says what was served instead while its root waited, and the counts that decided', () => {
    const world = new TracedWorld({ slotsMax: 1 });
    const { runner } = world.runner('r1');
    for (const name of ['big', 'fix']) world.dispatcher.openSource({ name });
    world.update({ source: 'big' });
    const [first] = runner.orders;
    world.clock.advance(1);
    const fix = world.update({ source: 'fix' });
    const second = world.update({ source: 'big' });
    world.clock.advance(30);
    world.do(() => runner.uplink.exited(first!.token.run, DONE));
    world.clock.advance(12);
    world.do(() => runner.uplink.exited(runner.orders.at(-1)!.token.run, DONE));
    const wait = named(world.tree(fix), 'wait')[0]!;
    expect(wait).toMatchObject({ startMs: 1, durationMs: 30 });
    expect(wait.attributes).toMatchObject({
      'fairlead.queue.wait': 30,
      'fairlead.wait.grants': 0,
      'fairlead.wait.counts': ['big: 9 held, 40 waiting', 'fix: 1 held, 0 waiting'],
      'fairlead.wait.on_loan': false,
    });
    expect(named(world.tree(second), 'wait')[0]!.attributes).toMatchObject({
      'fairlead.queue.wait': 42,
      'fairlead.wait.grants': 1,
      'fairlead.wait.served_instead': ['fix: 1'],
      'fairlead.wait.is_whole': true,
    });
  });

  test('U1: holds the runs that were told and every failure, and counts the rest', () => {
    const world = new TracedWorld({ slotsMax: 1_000 });
    const { runner } = world.runner('r1', 1_000);
    world.dispatcher.openSource({ name: 'docs' });
    const update = world.update({ source: 'docs' });
    const root = runner.orders[0]!.token.run;
    world.do(() => {
      for (let i = 0; i < 10; i++)
        runner.uplink.mount(root, { mount: i, path: `docs/${i}`, kind: 'item', source: 'docs', key: `k${i}` });
    });
    world.clock.advance(5);
    const error = { class: 'invalid', message: 'no such field', step: 'embed' } as const;
    world.do(() => {
      for (const { token, kind, key } of runner.orders) {
        if (kind !== 'item') continue;
        if (key === 'k3') runner.uplink.exited(token.run, { kind: 'failed', counts: counts({ failed: 1 }), error });
        else if (key === 'k4') runner.uplink.exited(token.run, DONE, traceOf(4, 'read', 'embed'));
        else runner.uplink.exited(token.run, DONE);
      }
    });
    world.do(() => runner.uplink.exited(root, { kind: 'done', counts: counts({ added: 9, failed: 1 }) }));
    const tree = world.tree(update);
    expect(tree.runs).toEqual({ total: 11, kept: 3, leftOut: 8 });
    const items = named(tree, 'run item');
    expect(items.map(({ attributes }) => attributes['fairlead.item.key'])).toEqual(['k3', 'k4']);
    expect(items[0]!.error).toEqual({ class: 'invalid', message: 'embed: no such field' });
    expect(items[1]!.children.map(({ name }) => name)).toEqual(['step read', 'step embed']);
    expect(items[1]).toMatchObject({ startMs: 0, durationMs: 4 });
    expect(tree.root.attributes).toMatchObject({ 'fairlead.runs.left_out': 8, 'fairlead.items.added': 9 });
    expect(tree.result).toBe('CompletedWithErrors');
    expect(world.exported.map(({ name }) => name)).toEqual([
      'run item',
      'run item',
      'step read',
      'step embed',
      'run cycle',
      'update cycle',
    ]);
  });

  test('shows an attempt that was lost with its runner, and the one after it', () => {
    const world = new TracedWorld();
    const { seat } = world.runner('r1');
    const update = world.update();
    world.clock.advance(7);
    world.do(() => world.dispatcher.removeRunner(seat));
    const { runner } = world.runner('r2');
    world.clock.advance(3);
    world.do(() => runner.uplink.exited(runner.orders[0]!.token.run, DONE));
    const runs = named(world.tree(update), 'run pipeline');
    expect(runs.map(({ attributes, error }) => [attributes['fairlead.run.attempt'], error?.class])).toEqual([
      [1, 'lost'],
      [2, undefined],
    ]);
    expect(new Set(runs.map(({ spanId }) => spanId)).size).toBe(2);
  });

  test('U3: goes on under another operator with the same trace and root span, from when it was asked for', () => {
    const before = new TracedWorld();
    before.clock.advance(1_000_000);
    const { runner } = before.runner('r1');
    before.update();
    const [order] = runner.orders;
    const after = new TracedWorld({ epoch: 2 });
    after.clock.advance(1_000_500);
    const joined = after.dispatcher.adoptRunner(
      { name: 'r1', runnerClass: 'cpu', slots: 8, cards: 0, runner },
      { ...EMPTY_REPORT, runs: [{ order: order!, mounts: [] }] },
    );
    after.settle();
    after.do(() => joined.uplink.exited(order!.token.run, DONE, traceOf(500)));
    const tree = after.tree(order!.update);
    const context = parseTraceparent(order!.traceparent)!;
    expect(tree).toMatchObject({ traceId: context.traceId, isTakenOver: true, startedAtMs: 1_000_000 });
    expect(tree.root.spanId).toBe(context.spanId);
    expect(after.exported.at(-1)).toMatchObject({ name: 'update pipeline', startMs: 1_000_000, endMs: 1_000_500 });
  });

  test('links to whoever asked, and to what joined it before it began', () => {
    const world = new TracedWorld();
    world.dispatcher.openSource({ name: 'docs' });
    const sender = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };
    const cause = { trigger: 'push', atMs: 0, traceparent: formatTraceparent(sender) };
    const update = world.update({ source: 'docs', causes: [cause] });
    world.dispatcher.joinUpdate(update, { trigger: 'watch', atMs: 5, revision: 'f00' });
    world.clock.advance(9);
    const { runner } = world.runner('r1');
    world.do(() => runner.uplink.exited(runner.orders[0]!.token.run, DONE));
    const { links } = world.tree(update);
    expect(links).toMatchObject([
      { trigger: 'push', traceId: sender.traceId, spanId: sender.spanId },
      { trigger: 'watch', atMs: 5, revision: 'f00' },
    ]);
    const trigger = world.exported.find(({ name }) => name === 'trigger watch');
    expect(trigger).toMatchObject({ traceId: links[1]!.traceId, spanId: links[1]!.spanId, startMs: 5 });
  });

  test('is there while the update goes on, and is found by its trace id too', () => {
    const world = new TracedWorld();
    world.runner('r1');
    const update = world.update();
    const tree = world.tree(update);
    expect(tree.result).toBeUndefined();
    expect(tree.root.durationMs).toBeUndefined();
    expect(world.telemetry.traces.get(PIPELINE, tree.traceId)?.update).toBe(update);
  });
});

describe('recent traces are bounded', () => {
  test('R1, R2: the last ones are kept, and updates that found nothing push none of them out', () => {
    const world = new TracedWorld();
    const { runner } = world.runner('r1');
    world.dispatcher.openSource({ name: 'docs' });
    const end = (part: Partial<Counts>) =>
      world.do(() => runner.uplink.exited(runner.orders.at(-1)!.token.run, { kind: 'done', counts: counts(part) }));
    const worked = Array.from({ length: 520 }, () => {
      const update = world.update({ source: 'docs' });
      end({ added: 1 });
      return update;
    });
    for (let i = 0; i < 1_000; i++) {
      world.update({ source: 'docs' });
      end({ unchanged: 1 });
    }
    const known = world.telemetry.traces.list(PIPELINE).map(({ update }) => update);
    expect(known).toHaveLength(501);
    expect(known).toContain(worked.at(-1));
    expect(known).not.toContain(worked[0]);
  });
});
