// Schedules, watchers and edits of one LiveSource, on a virtual clock.
import { expect, test } from 'vitest';
import {
  ARM_PATIENCE_MS,
  KEY_UPDATES_MAX,
  nextDueMs,
  type SourceTriggerSettings,
  SourceTriggers,
} from '../../operator/triggers/index.ts';
import { NO_COUNTS, type RunOutcome, type SourceChange } from '../../runner/protocol/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { FakeDoor } from './door.ts';

function sourceOf(settings: SourceTriggerSettings) {
  const clock = new VirtualClock(0);
  const door = new FakeDoor();
  const triggers = new SourceTriggers({ clock, door, source: 'docs', settings });
  triggers.start();
  return { clock, door, triggers };
}
const everyMs = (ms: number) => ({ kind: 'interval', everyMs: ms }) as const;
const changed = (key: string): SourceChange => ({ key, kind: 'changed', seenAtMs: 0 });
const rescan: SourceChange = { key: '', kind: 'rescan', seenAtMs: 0 };

test('T4: the interval counts from the end of the listing, however long that took', () => {
  const { clock, door } = sourceOf({ mode: 'Refresh', schedule: everyMs(1000) });
  expect(door.started.length, 'the first cycle begins at once').toBe(1);
  clock.advance(5000);
  door.endListing(0);
  clock.advance(999);
  expect(door.started.length, 'nothing piled up during the listing').toBe(1);
  clock.advance(1);
  expect(door.started.map(({ trigger }) => trigger)).toEqual(['start', 'interval']);
});

test('a cron expression lists at its times, in UTC where no zone is named', () => {
  const from = Date.UTC(2026, 0, 1, 12, 0, 0);
  const due = (expression: string, zone?: string) =>
    nextDueMs({ kind: 'cron', expression, ...(zone === undefined ? {} : { zone }) }, from);
  expect(due('30 12 * * *')).toBe(Date.UTC(2026, 0, 1, 12, 30));
  expect(due('30 12 * * *', 'America/New_York')).toBe(Date.UTC(2026, 0, 1, 17, 30));
  expect(due('0 0 29 2 *')).toBe(Date.UTC(2028, 1, 29));
});

test('a cron schedule months away is waited for with timers that the platform can hold', () => {
  const { clock, door } = sourceOf({ mode: 'Refresh', schedule: { kind: 'cron', expression: '0 0 1 6 *' } });
  door.end(0);
  clock.advance(Date.UTC(1970, 5, 1) - clock.nowMs() - 1);
  expect(door.started.length).toBe(1);
  clock.advance(1);
  expect(door.started.map(({ trigger }) => trigger)).toEqual(['start', 'cron']);
});

test('in Watch mode the first cycle begins when the watcher is armed, or when that takes too long', () => {
  const armed = sourceOf({ mode: 'Watch' });
  expect(armed.door.started.length).toBe(0);
  armed.triggers.changed([rescan]);
  expect(armed.door.started.length).toBe(1);
  armed.clock.advance(ARM_PATIENCE_MS);
  expect(armed.door.started.length, 'no second one').toBe(1);

  const broken = sourceOf({ mode: 'Watch' });
  broken.clock.advance(ARM_PATIENCE_MS);
  expect(broken.door.started.length).toBe(1);
});

test('T6 T7: a hundred rapid changes of a key make at most one running and one waiting update', () => {
  const { door, triggers } = sourceOf({ mode: 'Watch' });
  const rapid = () => triggers.changed(Array.from({ length: 100 }, () => changed('a.md')));
  rapid();
  expect(door.started.length).toBe(1);
  door.begin(0);
  rapid();
  expect(door.started.length).toBe(2);
  door.end(0);
  rapid();
  expect(door.started.length, 'the second one has not started: it will see the newest state').toBe(2);
});

test('T8: a storm of changes ends in one cycle instead of an update for each key', () => {
  const { door, triggers } = sourceOf({ mode: 'Watch' });
  triggers.changed(Array.from({ length: 50_000 }, (_, i) => changed(`file-${i}`)));
  expect(door.started.filter(({ kind }) => kind === 'key').length).toBe(KEY_UPDATES_MAX);
  expect(door.started.filter(({ kind }) => kind === 'cycle').length).toBe(1);
});

const removed = (from: number, to: number): SourceChange[] =>
  Array.from({ length: to - from }, (_, i) => ({ key: `file-${from + i}`, kind: 'removed', seenAtMs: 0 }));
const deletedOne: RunOutcome = { kind: 'done', counts: { ...NO_COUNTS, deleted: 1 } };
const held: RunOutcome = { kind: 'done', counts: NO_COUNTS, heldDeletes: { missing: 60, known: 60 } };

test('T9: of a folder that vanishes no more is deleted at once than the guard lets go; a cycle then counts those too', () => {
  const { door, triggers } = sourceOf({ mode: 'Watch', watchedDeletesMax: 20 });
  triggers.changed(removed(0, 60));
  expect(door.started.map(({ kind }) => kind)).toEqual(Array(20).fill('key'));
  for (let at = 0; at < 19; at += 1) door.end(at, deletedOne);
  expect(door.started.length, 'one of them is still under way').toBe(20);
  door.end(19, deletedOne);
  expect(door.started.slice(20)).toMatchObject([{ kind: 'cycle', trigger: 'watch', input: { deletedBefore: 20 } }]);
});

test('T10: after a cycle that held deletes back none is done at once; after one that did not all count from nothing again', () => {
  const { door, triggers } = sourceOf({ mode: 'Watch', watchedDeletesMax: 2 });
  triggers.changed(removed(0, 3));
  door.end(0, deletedOne);
  door.end(1, deletedOne);
  door.end(2, held);
  triggers.changed(removed(3, 4));
  expect(door.started[3]).toMatchObject({ kind: 'cycle', input: { deletedBefore: 2 } });
  door.end(3);
  triggers.changed(removed(4, 5));
  expect(door.started[4]).toMatchObject({ kind: 'key', key: 'file-4' });
});

test('T9: what is pushed to be removed is removed, whatever the number', () => {
  const { door, triggers } = sourceOf({ mode: 'Watch', watchedDeletesMax: 20 });
  triggers.changed(removed(0, 60), 'push');
  expect(door.started.filter(({ kind }) => kind === 'key').length).toBe(60);
});

test('T5: a suspended source opens nothing, and lists once when it goes on', () => {
  const { clock, door, triggers } = sourceOf({ mode: 'Watch', schedule: everyMs(1000), suspend: true });
  triggers.changed([changed('a.md'), rescan]);
  clock.advance(100_000);
  expect(door.started.length).toBe(0);
  triggers.edit({ mode: 'Watch', schedule: everyMs(1000) });
  expect(door.started.map(({ kind }) => kind)).toEqual(['cycle']);
});

test('an edit of the interval counts from now', () => {
  const { clock, door, triggers } = sourceOf({ mode: 'Refresh', schedule: everyMs(3_600_000) });
  door.endListing(0);
  triggers.edit({ mode: 'Refresh', schedule: everyMs(1000) });
  clock.advance(1000);
  expect(door.started.length).toBe(2);
});

test('a closed source leaves no timer behind', () => {
  const { clock, triggers } = sourceOf({ mode: 'Watch', schedule: everyMs(1000) });
  triggers.close();
  expect(clock.pending()).toBe(0);
});
