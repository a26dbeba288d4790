// What a run tells of its time, and which runs tell it: T1, T2 (runner/execute/times.ts), C1 to C3 (choice.ts), X1, X2 (trace-context.ts).
import { describe, expect, test } from 'vitest';
import { Choice } from '../../runner/execute/choice.ts';
import { RunTimes } from '../../runner/execute/times.ts';
import {
  askedAtMsOf,
  formatTraceparent,
  newTraceId,
  parseTraceparent,
  RUN_SPANS_MAX,
  type RunOrder,
  spanIdOf,
} from '../../runner/protocol/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const token = { epoch: 1, run: 2 ** 36 + 5, attempt: 1 };
const traceId = newTraceId(1_700_000_000_123, () => 0.7);
const traceparent = formatTraceparent({ traceId, spanId: 'a'.repeat(16), isSampled: true });
const order: RunOrder = { token, update: 'docs-1-1', path: 'docs', kind: 'item', traceparent };

describe('a run tells where its time went', () => {
  test('T1: a run of an update that is not traced measures nothing', () => {
    const { traceparent: _, ...untraced } = order;
    expect(RunTimes.of(untraced, new VirtualClock(), 0)).toBeUndefined();
    expect(RunTimes.of({ ...order, traceparent: 'nonsense' }, new VirtualClock(), 0)?.traceparent).toBeUndefined();
  });

  test('what happens while a step executes hangs below that step, and requests carry its context', () => {
    const clock = new VirtualClock();
    const times = RunTimes.of(order, clock, clock.nowMs())!;
    const step = times.begin('step', 'embed', 3);
    const asked = parseTraceparent(times.traceparent);
    const call = times.begin('call', 'model.example', 3);
    clock.advance(40);
    times.end(call, 'rate-limited');
    clock.advance(2);
    times.end(step);
    const commit = times.begin('commit', 'commit');
    clock.advance(5);
    times.end(commit);
    expect(times.taken().spans).toEqual([
      { kind: 'step', name: 'embed', count: 3, startMs: 0, durationMs: 42 },
      { kind: 'call', name: 'model.example', count: 3, in: 0, startMs: 0, durationMs: 40, failure: 'rate-limited' },
      { kind: 'commit', name: 'commit', startMs: 42, durationMs: 5 },
    ]);
    expect(asked).toEqual({ traceId, spanId: spanIdOf(traceId, token, 2), isSampled: true });
  });

  test('T2: a run with a thousand requests tells of a bounded number', () => {
    const times = RunTimes.of(order, new VirtualClock(), 0)!;
    for (let i = 0; i < 1_000; i++) times.end(times.begin('call', 'host'));
    expect(times.taken().spans).toHaveLength(RUN_SPANS_MAX);
  });
});

describe('runs are chosen', () => {
  const tell = (choice: Choice, durationMs: number, failed = false) =>
    choice.tells('u', { isRoot: false, failed, durationMs });

  test('C1: roots always, and all of a small update', () => {
    const choice = new Choice();
    for (let i = 0; i < 31; i++) expect(tell(choice, 1)).toBe(true);
    expect(choice.tells('u', { isRoot: true, failed: false, durationMs: 0 })).toBe(true);
  });

  test('C1, C2: of 400,000 runs every failure, every slow one and a thinning sample are told', () => {
    const choice = new Choice();
    let told = 0;
    for (let i = 0; i < 400_000; i++) {
      const isFailed = i % 10_000 === 7;
      const isSlow = i % 50_000 === 49_999;
      const isTold = tell(choice, isSlow ? 5_000 + i : 1, isFailed);
      if (isFailed || isSlow) expect(isTold, `run ${i}`).toBe(true);
      if (isTold) told++;
    }
    expect(told).toBeGreaterThan(90);
    expect(told).toBeLessThan(200);
  });

  test('C2: an update in which everything fails tells of a bounded number', () => {
    const choice = new Choice();
    let told = 0;
    for (let i = 0; i < 10_000; i++) if (tell(choice, 1, true)) told++;
    expect(told).toBe(500);
  });
});

test('X1: a trace id tells when its update was asked for', () => {
  expect(traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(askedAtMsOf(traceId)).toBe(1_700_000_000_123);
});

test('X2: ids of spans differ by run, attempt and place, and are the same wherever they are worked out', () => {
  const ids = new Set<string>();
  for (let run = 1; run <= 200; run++) {
    for (let attempt = 1; attempt <= 3; attempt++) {
      for (let place = 0; place < 10; place++) ids.add(spanIdOf(traceId, { run: 2 ** 36 + run, attempt }, place));
    }
  }
  expect(ids.size).toBe(200 * 3 * 10);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}$/);
  expect(spanIdOf(traceId, token, 0)).toBe(spanIdOf(traceId, { ...token }, 0));
});
