// Small parts of the engine by themselves: the bitmap, the feed of work, turns, when to try again.
import { describe, expect, test } from 'vitest';
import { Bitmap } from '../../runner/execute/bitmap.ts';
import { Cancellation } from '../../runner/execute/cancellation.ts';
import { toRunError } from '../../runner/execute/failure.ts';
import { WorkFeed } from '../../runner/execute/feed.ts';
import type { StateStore, WorkEntry } from '../../runner/execute/index.ts';
import { Portions } from '../../runner/execute/portions.ts';
import { decideRetry } from '../../runner/execute/retry.ts';
import { Turns } from '../../runner/execute/turns.ts';
import { StepError } from '../../runner/sdk/index.ts';
import { Random } from './random.ts';

describe('a bitmap', () => {
  test('holds what a set of numbers holds', () => {
    const random = new Random(3);
    const bitmap = new Bitmap();
    const set = new Set<number>();
    for (let step = 0; step < 5_000; step += 1) {
      const value = random.below(random.chance(0.1) ? 1_000_000 : 5_000);
      expect(bitmap.add(value)).toBe(!set.has(value));
      set.add(value);
    }
    expect(bitmap.size).toBe(set.size);
    expect([...Array(6_000).keys()].every((value) => bitmap.has(value) === set.has(value))).toBe(true);
  });
});

describe('the feed of work', () => {
  test('Q1, Q2: gives each entry once and in order, with a bounded number in memory, however entering and taking interleave', async () => {
    const random = new Random(11);
    const stored: WorkEntry[] = [];
    const takeWork: StateStore['takeWork'] = async (_update, afterSeq, limit) => {
      expect(limit).toBe(2_048);
      return stored.filter(({ seq }) => seq > afterSeq).slice(0, limit);
    };
    const entry = (seq: number): WorkEntry => ({
      seq,
      source: 'docs',
      key: String(seq),
      action: 'process',
      version: '1',
      update: 'u',
      seenAtMs: 0,
      losses: 0,
    });
    for (let seq = 1; seq <= 5_000; seq += 1) stored.push(entry(seq));
    const feed = new WorkFeed({ takeWork } as unknown as StateStore, 'u', true);
    const seen: number[] = [];
    let next = 5_000;
    for (let step = 0; step < 400; step += 1) {
      if (random.chance(0.5) && next < 30_000) {
        const batch = Array.from({ length: 1 + random.below(1_000) }, () => {
          next += 1 + random.below(2);
          return entry(next);
        });
        stored.push(...batch);
        feed.offer(batch.length, next, () => batch);
      }
      for (let taken = random.below(700); taken > 0; taken -= 1) {
        const one = feed.next();
        if (one !== undefined) seen.push(one.seq);
        else if (feed.isBehind) await feed.load();
      }
    }
    while (feed.isBehind || stored.length > seen.length) {
      const one = feed.next();
      if (one !== undefined) seen.push(one.seq);
      else if (feed.isBehind) await feed.load();
      else break;
    }
    expect(seen).toEqual(stored.map(({ seq }) => seq));
  });
});

describe('portions', () => {
  test('P1: what there is room for begins at once, the rest in order and a portion a turn', () => {
    const turns: (() => void)[] = [];
    const begun: number[] = [];
    const begin = (task: number) => begun.push(task);
    const portions = new Portions<number>(3, begin, (turn) => turns.push(turn));
    const nextTurn = () => turns.shift()?.();
    for (let task = 0; task < 7; task += 1) portions.add(task);
    expect(begun).toEqual([0, 1, 2]);
    nextTurn();
    portions.add(7);
    expect(begun, 'a portion is full again').toEqual([0, 1, 2, 3, 4, 5]);
    nextTurn();
    portions.add(8);
    expect(begun, 'a turn that is not full takes more').toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    nextTurn();
    nextTurn();
    expect(turns, 'nothing is left to turn for').toEqual([]);
  });

  test('P1: what a task adds while it begins has its place in the order too', () => {
    const turns: (() => void)[] = [];
    const begun: string[] = [];
    const portions = new Portions<string>(
      2,
      (task) => {
        begun.push(task);
        if (task.length < 3) portions.add(`${task}x`);
      },
      (turn) => turns.push(turn),
    );
    portions.add('a');
    portions.add('b');
    while (turns.length > 0) turns.shift()?.();
    expect(begun).toEqual(['a', 'ax', 'axx', 'b', 'bx', 'bxx']);
  });
});

describe('turns', () => {
  test('one at a time by name, in order of asking; a wait that is cancelled holds nobody up', async () => {
    const turns = new Turns();
    const order: string[] = [];
    const first = await turns.take('docs', new Cancellation());
    const leaving = new Cancellation();
    const second = turns.take('docs', leaving);
    const third = turns.take('docs', new Cancellation()).then((end) => {
      order.push('third');
      end();
    });
    await (await turns.take('other', new Cancellation()))();
    order.push('other');
    leaving.cancel('gone');
    await expect(second).rejects.toThrow('gone');
    order.push('first ends');
    first();
    await third;
    expect(order).toEqual(['other', 'first ends', 'third']);
  });
});

describe('when to try again', () => {
  const settings = { attempts: 4, baseMs: 100, maxMs: 1_000 };
  const transient = { class: 'transient' as const, message: 'no' };
  const decide = (failed: number, chance: number, error: Parameters<typeof decideRetry>[0] = transient) =>
    decideRetry(error, { failed }, settings, 0, () => chance);

  test.each([
    ['the first wait is below the base', 1, 0.99, transient, { kind: 'again', waitMs: 99 }],
    ['waits double', 3, 0.5, transient, { kind: 'again', waitMs: 200 }],
    ['jitter is full: a wait may be nothing', 3, 0, transient, { kind: 'again', waitMs: 0 }],
    ['the last attempt gives up', 4, 0.5, transient, { kind: 'giveUp' }],
    [
      'Retry-After wins where it is longer',
      1,
      0.5,
      { ...transient, retryAfterMs: 4_000 },
      { kind: 'again', waitMs: 4_000 },
    ],
    ['a wait above 5 s parks', 1, 0.5, { ...transient, retryAfterMs: 5_001 }, { kind: 'park', waitMs: 5_001 }],
    [
      'what only another input helps is not tried again',
      1,
      0.5,
      { class: 'invalid' as const, message: '' },
      { kind: 'giveUp' },
    ],
  ])('%s', (_name, failed, chance, error, wanted) => {
    expect(decide(failed, chance, error)).toEqual(wanted);
  });

  test('the bound of the wait is the greatest wait of the settings', () => {
    expect(decideRetry(transient, { failed: 30 }, { ...settings, attempts: 99 }, 0, () => 0.999)).toEqual({
      kind: 'again',
      waitMs: 999,
    });
  });

  test('codes of the network are transient wherever they stand in the chain of causes; other errors are not', () => {
    const reset = Object.assign(new Error('socket'), { code: 'ECONNRESET' });
    expect(toRunError(new Error('fetch failed', { cause: reset }), 'embed')).toEqual({
      class: 'transient',
      message: 'fetch failed',
      step: 'embed',
    });
    expect(toRunError(new Error('boom')).class).toBe('internal');
    expect(toRunError('text')).toEqual({ class: 'internal', message: 'text' });
    expect(toRunError(new StepError('rate-limited', 'slow', { retryAfterMs: 7 }))).toEqual({
      class: 'rate-limited',
      message: 'slow',
      retryAfterMs: 7,
    });
  });
});
