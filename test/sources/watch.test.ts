// The watch inside the helper thread, with a disk whose events a test makes and a clock that it moves: what a real kernel does too
// seldom to wait for. The files are real.
import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SourceChange } from '../../runner/protocol/index.ts';
import { ChangeQueue } from '../../runner/sources/common/change-queue.ts';
import { type Disk, disk } from '../../runner/sources/directory/disk.ts';
import { directorySettings } from '../../runner/sources/directory/settings.ts';
import { Tree } from '../../runner/sources/directory/tree.ts';
import { TreeWatch } from '../../runner/sources/directory/watch.ts';
import { watchTree } from '../../runner/sources/directory/watch-job.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { TempFolder } from './folder.ts';

let folder: TempFolder;
let clock: VirtualClock;
beforeEach(() => {
  folder = new TempFolder();
  clock = new VirtualClock();
});
afterEach(() => folder.remove());

/** Events by hand: `emit` tells the watch of a folder about a name. */
class HandDisk {
  readonly watched = new Map<string, { onEvent: (name: string | null) => void; failed: () => void }>();
  /** Calls of `watch` that are still let through. */
  room = Number.POSITIVE_INFINITY;
  readonly disk: Disk = {
    ...disk,
    watch: (path, onEvent, failed) => {
      if (this.room-- <= 0) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
      this.watched.set(path, { onEvent, failed });
      return { close: () => this.watched.delete(path) };
    },
  };

  emit(path: string, name: string | null): void {
    this.watched.get(path)?.onEvent(name);
  }
}

function watchByHand(eventsMax = 1_000) {
  const hand = new HandDisk();
  const told: SourceChange[] = [];
  const failures: unknown[] = [];
  const port = {
    changes: (changes: readonly SourceChange[]) => void told.push(...changes),
    note: () => {},
    failed: (error: unknown) => void failures.push(error),
  };
  const tree = new Tree(directorySettings({ path: folder.path }, '/'), hand.disk);
  const watch = new TreeWatch(tree, port, clock, eventsMax);
  watch.arm();
  return { hand, told, failures, watch, take: () => told.splice(0).map(({ key, kind }) => `${kind} ${key}`) };
}

it('so many events in one turn that the kernel may have dropped some end in a rescan (V3)', async () => {
  folder.write({ a: '', 'd/b': '' });
  const { hand, take } = watchByHand(5);
  for (let at = 0; at < 5; at++) hand.emit(folder.path, 'a');
  clock.advance(3);
  expect(take()).toEqual(['rescan ']);
  await settle();
  folder.write({ 'd/c': '' });
  hand.emit(folder.at('d'), 'c');
  clock.advance(3);
  expect(take()).toEqual(['changed d/c']);
});

it('an event without a name, and a watch that fails, end in a rescan', () => {
  folder.write({ 'd/b': '' });
  const { hand, take } = watchByHand();
  hand.emit(folder.at('d'), null);
  clock.advance(3);
  expect(take()).toEqual(['rescan ']);
  hand.watched.get(folder.at('d'))?.failed();
  clock.advance(3);
  expect(take()).toEqual(['rescan ']);
  expect(hand.watched.has(folder.at('d'))).toBe(true);
});

it('the first change is told after 3 ms, further ones of the same file at most every 100 ms (V4)', () => {
  folder.write({ log: '' });
  const { hand, take } = watchByHand();
  const write = (text: string) => {
    folder.write({ log: text });
    hand.emit(folder.path, 'log');
  };
  write('1');
  clock.advance(2);
  expect(take()).toEqual([]);
  clock.advance(1);
  expect(take()).toEqual(['changed log']);
  for (let at = 0; at < 9; at++) {
    write('x'.repeat(at + 2));
    clock.advance(10);
  }
  expect(take()).toEqual([]);
  clock.advance(10);
  expect(take()).toEqual(['changed log']);
});

it('the time of a change is that of its first event, also when it is told later', () => {
  folder.write({ log: '' });
  const { hand, told } = watchByHand();
  const startMs = clock.nowMs();
  folder.write({ log: '1' });
  hand.emit(folder.path, 'log');
  clock.advance(3);
  folder.write({ log: '22' });
  clock.advance(7);
  hand.emit(folder.path, 'log');
  clock.advance(200);
  expect(told.map(({ seenAtMs }) => seenAtMs - startMs)).toEqual([0, 10]);
});

it('two events of one write are one change', () => {
  folder.write({ a: '' });
  const { hand, take } = watchByHand();
  hand.emit(folder.path, 'a');
  clock.advance(3);
  hand.emit(folder.path, 'a');
  clock.advance(500);
  expect(take()).toEqual(['changed a']);
});

it('a root that is gone ends the watch, and nothing is told any more', () => {
  folder.write({ 'root/a': '' });
  const { hand, failures, take } = watchByHand();
  rmSync(folder.path, { recursive: true });
  hand.emit(folder.path, 'root');
  clock.advance(3);
  expect(failures).toMatchObject([{ code: 'ENOENT' }]);
  expect(take()).toEqual([]);
  expect(hand.watched.size).toBe(0);
  expect(clock.pending()).toBe(0);
});

it('where the system has no room for watches the tree is compared instead, with a note and a rescan', async () => {
  folder.write({ 'a/1': '', 'b/2': '' });
  const hand = new HandDisk();
  hand.room = 3;
  const notes: string[] = [];
  const queue = new ChangeQueue();
  const port = {
    armed: () => queue.arm(),
    changes: (changes: readonly SourceChange[]) => queue.add(changes),
    note: (text: string) => void notes.push(text),
  };
  const stop = new AbortController();
  const tree = new Tree(directorySettings({ path: folder.path }, '/'), hand.disk);
  const ended = watchTree(tree, port, clock, stop.signal);
  ended.catch(() => {});
  const batches = queue.read(stop.signal);
  expect((await batches.next()).value).toEqual([]);
  expect((await batches.next()).value).toMatchObject([{ kind: 'rescan', key: '' }]);
  expect(notes).toEqual([
    expect.stringContaining('raise fs.inotify.max_user_watches); it is compared every 2 s instead'),
  ]);
  folder.write({ 'b/3': '' });
  await settle();
  await clock.advanceAsync(2_000);
  expect((await batches.next()).value).toMatchObject([{ kind: 'changed', key: 'b/3' }]);
  stop.abort(new Error('enough'));
  await expect(ended).rejects.toThrow('enough');
  expect(hand.watched.size).toBe(0);
});

it('a reader that is slow gets the newest kind of each key with the oldest time, and past 50,000 keys a rescan', async () => {
  const queue = new ChangeQueue();
  queue.arm();
  const batches = queue.read(new AbortController().signal);
  expect((await batches.next()).value).toEqual([]);
  queue.add([{ key: 'a', kind: 'changed', seenAtMs: 1 }]);
  queue.add([{ key: 'a', kind: 'removed', seenAtMs: 2 }]);
  expect((await batches.next()).value).toEqual([{ key: 'a', kind: 'removed', seenAtMs: 1 }]);
  queue.add(
    Array.from({ length: 50_001 }, (_, at) => ({ key: String(at), kind: 'changed', seenAtMs: at + 5 }) as const),
  );
  queue.add([{ key: 'b', kind: 'changed', seenAtMs: 9 }]);
  expect((await batches.next()).value).toEqual([
    { key: '', kind: 'rescan', seenAtMs: 5 },
    { key: 'b', kind: 'changed', seenAtMs: 9 },
  ]);
});
