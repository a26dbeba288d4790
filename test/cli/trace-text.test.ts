// `fairlead trace` as text: where a span lies on the bar, what a wait was for, and bounds.
import { describe, expect, test } from 'vitest';
import { traceText } from '../../cli/remote/trace-text.ts';
import type { TraceSpan, TraceTree } from '../../operator/telemetry/index.ts';
import { NO_COUNTS } from '../../runner/protocol/index.ts';

const span = (name: string, startMs: number, durationMs: number, more: Partial<TraceSpan> = {}): TraceSpan => ({
  spanId: name,
  kind: 'step',
  name,
  startMs,
  durationMs,
  attributes: {},
  children: [],
  ...more,
});

const tree = (children: readonly TraceSpan[]): TraceTree => ({
  traceId: 'a'.repeat(32),
  pipeline: 'search/code',
  update: 'docs-1-1',
  kind: 'cycle',
  trigger: 'interval',
  result: 'Succeeded',
  startedAtMs: 0,
  endedAtMs: 100,
  isExported: false,
  isTakenOver: false,
  counts: NO_COUNTS,
  runs: { total: 3, kept: 2, leftOut: 1 },
  links: [{ trigger: 'watch', atMs: 0, traceId: 'b', spanId: 'c', revision: '4f2a' }],
  root: span('update', 0, 100, { kind: 'update', children }),
});

test('spans stand below their parents at their place on the bar; failures and waits say why', () => {
  const text = traceText(
    tree([
      span('wait', 0, 50, { kind: 'wait', attributes: { 'fairlead.wait.served_instead': ['tickets: 4'] } }),
      span('run item', 50, 50, {
        kind: 'run',
        attributes: { 'fairlead.item.key': 'a.md' },
        error: { class: 'invalid', message: 'refused' },
      }),
    ]),
    100,
    false,
  );
  expect(text).toContain('3 runs, spans of 2, 1 left out');
  expect(text).toContain('because of watch at 4f2a');
  expect(text).toMatch(/^ {2}wait +50ms \|={15} {15}\| {2}served meanwhile: tickets: 4$/m);
  expect(text).toMatch(/^ {2}run item a\.md +50ms \| {15}={15}\| {2}invalid: refused$/m);
});

test('a run shows its wait before it, as dots on the bar and in words', () => {
  const wait = span('wait', 0, 50, { kind: 'wait', attributes: { 'fairlead.wait.served_instead': ['tickets: 4'] } });
  const text = traceText(tree([span('run cycle', 50, 50, { kind: 'run', wait })]), 100, false);
  expect(text).toMatch(/^ {2}run cycle +50ms \|\.{15}={15}\| {2}waited 50ms: {2}served meanwhile: tickets: 4$/m);
});

describe('a level with very many spans', () => {
  const error = { class: 'invalid' };
  const many = Array.from({ length: 100 }, (_, at) =>
    span(`step ${at}`, at, at === 40 ? 30 : 1, at % 30 === 7 ? { error } : {}),
  );

  test('shows what failed and what took longest in their order, and counts the rest', () => {
    const text = traceText(tree(many), 100, false);
    const steps = [...text.matchAll(/^ {2}step (\d+)/gm)].map(([, at]) => Number(at));
    expect(steps).toHaveLength(12);
    expect(steps).toEqual(expect.arrayContaining([7, 37, 40, 67, 97]));
    expect(steps).toEqual(steps.toSorted((a, b) => a - b));
    expect(text).toContain('and 88 more');
  });

  test('shows all of it where all is wanted', () => {
    expect(traceText(tree(many), 100, true).match(/^ {2}step/gm)).toHaveLength(100);
  });
});
