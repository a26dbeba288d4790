// Logs: L1, L2 at the head of operator/log.ts. That no secret gets in is tested by planting some (secrets.test.ts).
import { describe, expect, test } from 'vitest';
import { type LogLevel, logOf, openLog } from '../../operator/log.ts';
import { Telemetry } from '../../operator/telemetry/index.ts';
import { NO_COUNTS } from '../../runner/protocol/index.ts';
import { World } from '../dispatch/world.ts';

function logAt(level: LogLevel, form: 'json' | 'words') {
  const lines: string[] = [];
  return { lines, log: openLog({ level, form, write: (line) => lines.push(line), now: () => 1_700_000_000_000 }) };
}

describe('a log', () => {
  test('writes one JSON object a line, whatever the message holds', () => {
    const { lines, log } = logAt('info', 'json');
    log.warn('it\nbroke "here"', { runner: 'r1', error: new Error('two\nlines'), absent: undefined });
    expect(lines).toHaveLength(1);
    expect(lines[0]!.indexOf('\n')).toBe(lines[0]!.length - 1);
    expect(JSON.parse(lines[0]!)).toEqual({
      time: '2023-11-14T22:13:20.000Z',
      level: 'warn',
      message: 'it\nbroke "here"',
      runner: 'r1',
      error: 'two\nlines',
    });
  });

  test('writes words on a terminal, one line for one event too', () => {
    const { lines, log } = logAt('info', 'words');
    log.error('it\n  broke', { runner: 'r1', why: 'two words\nand a line', counts: { added: 2 } });
    expect(lines).toEqual(['22:13:20 error it broke  runner=r1  why="two words\\nand a line"  counts={"added":2}\n']);
  });

  test('says what is at its level and graver, and fields that all lines have', () => {
    const { lines, log } = logAt('warn', 'json');
    const own = logOf(log, { runner: 'r1' });
    for (const level of ['error', 'warn', 'info', 'debug'] as const) own[level](level);
    expect(lines.map((line) => JSON.parse(line).level)).toEqual(['error', 'warn']);
    expect(JSON.parse(lines[0]!).runner).toBe('r1');
  });
});

test('what became of an update and of its failures is said with object and trace, the first failures only', () => {
  const { lines, log } = logAt('info', 'json');
  const world = new World();
  const telemetry = new Telemetry({ clock: world.clock, log });
  const follower = telemetry.follow('search/code');
  const said = follower.events.at(-1)!;
  const traced = new World({
    events: { ended: said.ended!.bind(said), updateEnded: said.updateEnded!.bind(said) },
    traceparentOf: follower.traceparentOf,
  });
  traced.dispatcher.openSource({ name: 'docs' });
  const { runner } = traced.runner('r1', 100);
  const update = traced.update({ source: 'docs' });
  const root = runner.orders[0]!;
  traced.do(() => {
    for (let i = 0; i < 8; i++)
      runner.uplink.mount(root.token.run, { mount: i, path: `docs/${i}`, kind: 'item', source: 'docs', key: `k${i}` });
  });
  const error = { class: 'invalid', message: 'not a document', step: 'read' } as const;
  traced.do(() => {
    for (const { token, kind } of runner.orders)
      if (kind === 'item') runner.uplink.exited(token.run, { kind: 'failed', counts: NO_COUNTS, error });
  });
  traced.do(() => runner.uplink.exited(root.token.run, { kind: 'done', counts: { ...NO_COUNTS, failed: 8 } }));
  const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const traceId = root.traceparent?.split('-')[1];
  expect(events.filter(({ message }) => message === 'a run failed')).toHaveLength(5);
  expect(events[0]).toMatchObject({
    pipeline: 'search/code',
    source: 'docs',
    update,
    traceId,
    key: 'k0',
    step: 'read',
  });
  expect(events.at(-1)).toMatchObject({
    message: 'an update ended',
    update,
    traceId,
    result: 'CompletedWithErrors',
    failuresNotSaid: 3,
  });
  telemetry.close();
});
