// The source `directory` on real folders, through the public door. Faults that a superuser cannot meet are made by an unprivileged
// child process or by a disk that fails single calls, in the files beside this one.
import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Source } from '../../runner/execute/index.ts';
import { type DirectorySpec, openSource, type SourceOptions } from '../../runner/sources/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { keysOf, listAll, live, MAX_BYTES, rejection, textOf } from './contract.ts';
import { sourceOptions, TempFolder } from './folder.ts';

let folder: TempFolder;
const opened: Source[] = [];
const open = (spec: Partial<DirectorySpec> = {}, options: Partial<SourceOptions> = {}): Source => {
  const source = openSource({ directory: { path: folder.path, ...spec } }, sourceOptions(folder, options));
  opened.push(source);
  return source;
};

beforeEach(() => {
  folder = new TempFolder();
});
afterEach(async () => {
  for (const source of opened.splice(0)) await source.close();
  folder.remove();
});

const patterns: Record<string, { spec: Partial<DirectorySpec>; want: string[] }> = {
  'a pattern starts at the root': { spec: { include: ['*.md'] }, want: ['a.md'] },
  'two stars reach any depth': { spec: { include: ['**/*.md'] }, want: ['a.md', 'docs/b.md', 'docs/deep/c.md'] },
  'a folder in exclude goes with all below it': { spec: { exclude: ['docs'] }, want: ['a.md', 'src/x.ts'] },
  'a slash at the end means the folder': { spec: { include: ['docs/deep/'] }, want: ['docs/deep/c.md'] },
  'a slash or ./ at the start means the root': { spec: { include: ['/src/**', './a.md'] }, want: ['a.md', 'src/x.ts'] },
  'exclude wins over include': { spec: { include: ['docs/**'], exclude: ['docs/deep/**'] }, want: ['docs/b.md'] },
  'braces and classes work': { spec: { include: ['{src,docs}/[bx].*'] }, want: ['docs/b.md', 'src/x.ts'] },
};
for (const [claim, { spec, want }] of Object.entries(patterns)) {
  it(`globs: ${claim}, for a listing and for one key alike`, async () => {
    const all = ['a.md', 'docs/b.md', 'docs/deep/c.md', 'src/x.ts'];
    folder.write(Object.fromEntries(all.map((name) => [name, name])));
    const source = open(spec);
    expect(await keysOf(source)).toEqual(want);
    for (const key of all) {
      expect([key, (await source.stat(key, live())) !== undefined]).toEqual([key, want.includes(key)]);
      expect([key, await textOf(source, key)]).toEqual([key, want.includes(key) ? key : undefined]);
    }
  });
}

it('a pattern that cannot be used is refused when the source opens, with advice', () => {
  expect(() => open({ include: ['!docs/**'] })).toThrow(
    'include: the pattern "!docs/**" cannot be used; put what it names into exclude instead',
  );
  expect(() => open({ exclude: ['/'] })).toThrow('exclude: the pattern "/" cannot be used');
});

it('a folder that is missing, or is a file, fails the listing instead of listing nothing (F1)', async () => {
  folder.write({ file: 'x' });
  const missing = await rejection(listAll(open({ path: folder.at('nowhere') })));
  expect(missing).toMatchObject({
    class: 'transient',
    message: `the folder ${folder.at('nowhere')} could not be read: it does not exist`,
  });
  await expect(listAll(open({ path: folder.at('file') }))).rejects.toThrow('a part of the path is not a folder');
});

it('a relative path starts at the folder of the YAML', async () => {
  folder.write({ 'docs/a.md': 'a' });
  expect(await keysOf(open({ path: 'docs' }))).toEqual(['a.md']);
});

it('a root that is itself a link is followed whatever the policy, also to where it leads later', async () => {
  folder.write({ 'docs/a.md': 'a', 'other/a.md': 'other' });
  symlinkSync('docs', folder.at('current'));
  const source = open({ path: 'current' });
  expect(await keysOf(source)).toEqual(['a.md']);
  expect(await textOf(source, 'a.md')).toBe('a');
  rmSync(folder.at('current'));
  symlinkSync('other', folder.at('current'));
  expect(await textOf(source, 'a.md')).toBe('other');
});

it('an item that goes between listing and reading is gone, not an error', async () => {
  folder.write({ 'a.md': 'a', 'd/b.md': 'b' });
  const source = open();
  await listAll(source);
  rmSync(folder.at('a.md'));
  rmSync(folder.at('d'), { recursive: true });
  writeFileSync(folder.at('d'), 'a file now');
  expect(await textOf(source, 'a.md')).toBeUndefined();
  expect(await textOf(source, 'd/b.md')).toBeUndefined();
  expect(await source.stat('d/b.md', live())).toBeUndefined();
});

it('a rewrite of equal size that puts the old time back changes the version', async () => {
  folder.write({ 'a.md': 'one' });
  const source = open();
  const time = new Date(1_700_000_000_000);
  utimesSync(folder.at('a.md'), time, time);
  const [before] = await listAll(source);
  await textOf(source, 'a.md');
  writeFileSync(folder.at('a.md'), 'two');
  utimesSync(folder.at('a.md'), time, time);
  const [after] = await listAll(source);
  expect(after?.version).not.toBe(before?.version);
});

it('an atomic replacement by a file of equal size and time changes the version', async () => {
  folder.write({ 'a.md': 'one', 'new.md': 'two' });
  const time = new Date(1_700_000_000_000);
  for (const name of ['a.md', 'new.md']) utimesSync(folder.at(name), time, time);
  const source = open();
  const before = await source.stat('a.md', live());
  renameSync(folder.at('new.md'), folder.at('a.md'));
  const after = await source.stat('a.md', live());
  expect(after?.version).not.toBe(before?.version);
});

it('a touch changes the version and not the content, so that the hash saves the work (F11)', async () => {
  folder.write({ 'a.md': 'one' });
  const source = open();
  const [before] = await listAll(source);
  utimesSync(folder.at('a.md'), new Date(1_700_000_000_000), new Date(1_700_000_000_000));
  const [after] = await listAll(source);
  expect(after?.version).not.toBe(before?.version);
  expect(await textOf(source, 'a.md')).toBe('one');
});

it('a file is read once its last change is a tick old, so that a second write within the tick is not lost', async () => {
  folder.write({ 'a.md': 'one' });
  const clock = new VirtualClock(Date.now());
  const source = open({}, { clock });
  const reading = source.read('a.md', '', { signal: live(), maxBytes: MAX_BYTES });
  while (clock.pending() === 0) await new Promise(setImmediate);
  writeFileSync(folder.at('a.md'), 'two');
  let isDone = false;
  const content = reading.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    clock.step();
    await new Promise(setImmediate);
  }
  expect(Buffer.from((await content)?.bytes ?? []).toString()).toBe('two');
  expect((await content)?.version).toBe((await source.stat('a.md', live()))?.version);
});

it('a file that is written all the time ends as a transient failure that says so', async () => {
  folder.write({ 'log.txt': 'line\n' });
  let size = 0;
  // By this clock the file was always written just now, and each wait of the reader sees another write.
  const clock = {
    nowMs: () => Math.floor(statSync(folder.at('log.txt')).ctimeMs),
    after: (_delayMs: number, wake: () => void) => {
      truncateSync(folder.at('log.txt'), ++size);
      setImmediate(wake);
      return () => {};
    },
  };
  const source = open({}, { clock });
  const error = await rejection(source.read('log.txt', '', { signal: live(), maxBytes: MAX_BYTES }));
  expect(error).toMatchObject({
    class: 'transient',
    message: expect.stringContaining('"log.txt" was being written each time'),
  });
});

it('pipes and sockets are left out with a note and never block a read', async () => {
  folder.write({ 'a.md': 'a' });
  execFileSync('mkfifo', [folder.at('pipe')]);
  const server = createServer().listen(folder.at('sock'));
  await new Promise((resolve) => server.once('listening', resolve));
  const source = open();
  expect(await keysOf(source)).toEqual(['a.md']);
  expect(source.takeNotes?.()).toEqual([
    '"pipe" is no regular file and is left out',
    '"sock" is no regular file and is left out',
  ]);
  expect(source.takeNotes?.()).toEqual([]);
  expect(await textOf(source, 'pipe')).toBeUndefined();
  expect(await textOf(source, 'sock')).toBeUndefined();
  server.close();
});

it('binary and empty files are items like any other', async () => {
  writeFileSync(folder.at('logo.png'), Buffer.from([0x89, 0x50, 0, 0xff]));
  writeFileSync(folder.at('empty'), '');
  const source = open();
  expect(await keysOf(source)).toEqual(['empty', 'logo.png']);
  const content = await source.read('logo.png', '', { signal: live(), maxBytes: 10 });
  expect([...(content?.bytes ?? [])]).toEqual([0x89, 0x50, 0, 0xff]);
  expect(await textOf(source, 'empty')).toBe('');
});

it('hard links are items of their own', async () => {
  folder.write({ 'a.md': 'a' });
  linkSync(folder.at('a.md'), folder.at('b.md'));
  expect(await keysOf(open())).toEqual(['a.md', 'b.md']);
});

it('20,000 files come in batches of at most 1,000, sorted by the bytes of their paths', async () => {
  for (let at = 0; at < 20_000; at++) {
    if (at % 2_000 === 0) mkdirSync(folder.at(`d${at / 2_000}`));
    writeFileSync(folder.at(`d${Math.floor(at / 2_000)}/${at}`), '');
  }
  const sizes: number[] = [];
  const keys: string[] = [];
  for await (const batch of open().list({ signal: live() })) {
    sizes.push(batch.length);
    keys.push(...batch.map((item) => item.key));
  }
  expect(keys.length).toBe(20_000);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000);
  expect(keys).toEqual(keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
});

it('reading 200 files at once never has more than 32 open (F32)', async () => {
  folder.write(Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`f${at}`, 'x'.repeat(10_000)])));
  const source = open();
  const items = await listAll(source);
  const target = (fd: string) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  };
  let peak = 0;
  const look = () => {
    const openNow = readdirSync('/proc/self/fd').filter((fd) => target(fd).startsWith(folder.path)).length;
    peak = Math.max(peak, openNow);
  };
  const readOne = async (key: string) => {
    await source.read(key, '', { signal: live(), maxBytes: MAX_BYTES });
    look();
  };
  const reads = items.map(({ key }) => readOne(key));
  for (let turn = 0; turn < 20; turn++) {
    await new Promise(setImmediate);
    look();
  }
  await Promise.all(reads);
  expect(peak).toBeGreaterThan(0);
  expect(peak).toBeLessThanOrEqual(32);
});

it('the helper thread ends after a minute without work, and the next listing starts another', async () => {
  folder.write({ 'a.md': 'a' });
  const clock = new VirtualClock();
  const source = open({}, { clock });
  // The system shows the first fifteen letters of a thread's name.
  const nameOf = (task: string) => {
    try {
      return readFileSync(`/proc/self/task/${task}/comm`, 'utf8').trim();
    } catch {
      return 'it has ended';
    }
  };
  const threads = () => readdirSync('/proc/self/task').filter((task) => nameOf(task) === 'fairlead-direct').length;
  const before = threads();
  expect(await keysOf(source)).toEqual(['a.md']);
  expect(threads()).toBeGreaterThan(before);
  clock.advance(59_999);
  expect(await keysOf(source)).toEqual(['a.md']);
  clock.advance(59_999);
  expect(threads()).toBeGreaterThan(before);
  clock.advance(1);
  while (threads() > before) await new Promise(setImmediate);
  expect(await keysOf(source)).toEqual(['a.md']);
});

it('a source that was closed fails its open listing and says why', async () => {
  folder.write(Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`f${at}`, ''])));
  const source = open();
  const listing = source.list({ signal: live() })[Symbol.asyncIterator]();
  await listing.next();
  await source.close();
  const rest = async () => {
    while (!(await listing.next()).done);
  };
  await expect(rest()).rejects.toThrow('the source was closed');
});
