// What the net under a watcher catches: the watcher stands and never says a word, as one that died without anybody noticing.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Whole } from './whole.ts';

const RESYNC_MS = 3_600_000;

let whole: Whole;

beforeEach(async () => {
  whole = new Whole({ slots: 4, mode: 'Watch', resyncMs: RESYNC_MS });
  whole.source.write('a', 'text old');
  whole.source.write('b', 'text of b');
  await whole.start();
  whole.triggers.start();
  await whole.idle(1_000);
});
afterEach(() => whole.state.close());

test('F2: a change that the watcher did not tell arrives with the next full cycle, and costs only its own run', async () => {
  whole.source.write('a', 'text new');
  whole.work.calls.length = 0;
  await whole.clock.advanceAsync(RESYNC_MS - 1_000, 1);
  expect(await whole.text('a'), 'nobody said so').toBe('text old');
  expect(await whole.until(async () => (await whole.text('a')) === 'text new', RESYNC_MS)).toBeLessThanOrEqual(1_000);
  expect(whole.work.calls).toEqual(['a']);
});

test('F33: rows of an item that went without a word go with the next full cycle, as they do at once with the word', async () => {
  whole.source.remove('a');
  whole.source.watching?.([{ key: 'a', kind: 'changed', seenAtMs: whole.clock.nowMs() }]);
  await whole.idle(1_000);
  expect(Object.keys(await whole.texts())).toEqual(['b']);
  whole.source.remove('b');
  await whole.until(async () => Object.keys(await whole.texts()).length === 0, RESYNC_MS);
});
