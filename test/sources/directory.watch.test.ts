// Watching a folder by real file events of the kernel. Each test waits for what the watch says; a file named `end` is written last
// where a test claims that something is not told, since events come in order.
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Source } from '../../runner/execute/index.ts';
import type { DirectorySpec } from '../../runner/sources/index.ts';
import { keysOf, textOf } from './contract.ts';
import { openDirectory, TempFolder } from './folder.ts';
import { Watching } from './watching.ts';

let outside: TempFolder;
let folder: TempFolder;
let source: Source;
let watching: Watching;

const start = async (files: Readonly<Record<string, string>>, spec: Partial<DirectorySpec> = {}): Promise<void> => {
  folder.write(files);
  source = openDirectory(folder, spec);
  watching = await Watching.start(source);
};
/** Everything that was told, and nothing else, up to now. */
const told = async (): Promise<Record<string, string>> => {
  folder.write({ end: String(Math.random()) });
  const all = await watching.until({ end: 'changed' });
  all.delete('end');
  return Object.fromEntries(all);
};

beforeEach(() => {
  folder = new TempFolder();
  outside = new TempFolder();
});
afterEach(async () => {
  await source.close();
  folder.remove();
  outside.remove();
});

it('a new, a changed and a removed file are told with their kind', async () => {
  await start({ 'a.md': 'a', 'd/b.md': 'b' });
  folder.write({ 'd/c.md': 'c' });
  await watching.until({ 'd/c.md': 'changed' });
  folder.write({ 'a.md': 'a2' });
  await watching.until({ 'a.md': 'changed' });
  rmSync(folder.at('d/b.md'));
  expect(await watching.until({ 'd/b.md': 'removed' })).toEqual(new Map([['d/b.md', 'removed']]));
});

it("an editor's save by renaming a new file over the old one is one change of that file", async () => {
  await start({ 'a.md': 'a' });
  folder.write({ '.a.md.swp': 'new text' });
  renameSync(folder.at('.a.md.swp'), folder.at('a.md'));
  const changes = await told();
  expect(changes['a.md']).toBe('changed');
  expect(changes['.a.md.swp']).not.toBe('changed');
  expect(await textOf(source, 'a.md')).toBe('new text');
});

it('new folders are watched: files that came with them and files that come later are told', async () => {
  await start({ 'a.md': 'a' });
  folder.write({ 'x/y/z/one.md': '1', 'x/two.md': '2' });
  await watching.until({ 'x/y/z/one.md': 'changed', 'x/two.md': 'changed' });
  folder.write({ 'x/y/z/three.md': '3' });
  await watching.until({ 'x/y/z/three.md': 'changed' });
});

it('a folder that is moved in brings its files, and one that is moved away takes them', async () => {
  await start({ 'd/a.md': 'a', 'd/e/b.md': 'b' });
  renameSync(folder.at('d'), outside.at('d'));
  expect(await told()).toEqual({ 'd/a.md': 'removed', 'd/e/b.md': 'removed' });
  renameSync(outside.at('d'), folder.at('back'));
  expect(await told()).toEqual({ 'back/a.md': 'changed', 'back/e/b.md': 'changed' });
  folder.write({ 'back/e/b.md': 'b2' });
  await watching.until({ 'back/e/b.md': 'changed' });
});

it('a folder that is renamed inside the tree is removed here and changed there', async () => {
  await start({ 'old/a.md': 'a' });
  renameSync(folder.at('old'), folder.at('new'));
  expect(await told()).toEqual({ 'old/a.md': 'removed', 'new/a.md': 'changed' });
});

it('a folder that is deleted with all its files tells each of them (F33)', async () => {
  await start(Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`d/e${at % 7}/${at}`, 'x'])));
  rmSync(folder.at('d'), { recursive: true });
  const changes = await told();
  expect(Object.keys(changes).length).toBe(300);
  expect(new Set(Object.values(changes))).toEqual(new Set(['removed']));
});

it('a folder replaced by another of the same name is watched as what it is now', async () => {
  await start({ 'd/a.md': 'a', 'd/both.md': '1' });
  outside.write({ 'd/b.md': 'b', 'd/both.md': '2' });
  renameSync(folder.at('d'), outside.at('gone'));
  renameSync(outside.at('d'), folder.at('d'));
  expect(await told()).toEqual({ 'd/a.md': 'removed', 'd/b.md': 'changed', 'd/both.md': 'changed' });
  folder.write({ 'd/c.md': 'c' });
  await watching.until({ 'd/c.md': 'changed' });
});

it('a file that becomes a folder, and a folder that becomes a file', async () => {
  await start({ one: 'a file', 'two/x.md': 'in a folder' });
  rmSync(folder.at('one'));
  folder.write({ 'one/y.md': 'now a folder' });
  rmSync(folder.at('two'), { recursive: true });
  folder.write({ two: 'now a file' });
  expect(await told()).toEqual({ one: 'removed', 'one/y.md': 'changed', 'two/x.md': 'removed', two: 'changed' });
});

it('names that are not UTF-8 are told by the key that reads them', async () => {
  await start({});
  writeFileSync(Buffer.concat([Buffer.from(`${folder.path}/bad-`), Buffer.from([0xff])]), 'x');
  await watching.until({ 'bad-\uFFFDFF': 'changed' });
  expect(await textOf(source, 'bad-\uFFFDFF')).toBe('x');
});

it('what is no item is not told: excluded files and folders, .git, pipes', async () => {
  await start({ 'a.md': 'a', 'out/x': 'x' }, { include: ['**/*.md', 'end'], exclude: ['out'] });
  folder.write({ 'b.ts': 'no', 'out/y.md': 'no', '.git/HEAD': 'no', 'new/.git/c.md': 'no', 'new/d.md': 'yes' });
  expect(await told()).toEqual({ 'new/d.md': 'changed' });
});

it('an edit of .gitignore asks for a full cycle, and what it lets in is watched from then on', async () => {
  await start({ '.gitignore': 'hidden/\n', 'hidden/a.md': 'a' }, { gitignore: true });
  folder.write({ 'hidden/a.md': 'still hidden' });
  expect(await told()).toEqual({});
  folder.write({ '.gitignore': '' });
  await watching.until({ '': 'rescan' });
  expect(await keysOf(source)).toContain('hidden/a.md');
  folder.write({ 'hidden/a.md': 'seen' });
  await watching.until({ 'hidden/a.md': 'changed' });
});

it('links that are followed tell when their target changes, also when it is swapped as mounted config maps are', async () => {
  outside.write({ 'shared.md': 'one' });
  folder.write({ '..v1/conf.md': 'one', '..v2/conf.md': 'two' });
  symlinkSync('..v1', folder.at('..data'));
  symlinkSync('..data/conf.md', folder.at('conf.md'));
  symlinkSync(outside.at('shared.md'), folder.at('shared.md'));
  await start({}, { symlinks: 'Follow', exclude: ['..*'] });
  outside.write({ 'shared.md': 'two' });
  await watching.until({ 'shared.md': 'changed' });
  symlinkSync('..v2', folder.at('..data_tmp'));
  renameSync(folder.at('..data_tmp'), folder.at('..data'));
  await watching.until({ 'conf.md': 'changed' });
  expect(await textOf(source, 'conf.md')).toBe('two');
});

it('a root that is replaced asks for a full cycle and is watched again; one that is removed ends the watch', async () => {
  outside.write({ 'root/a.md': 'a', 'other/b.md': 'b' });
  await start({}, { path: outside.at('root') });
  renameSync(outside.at('root'), outside.at('away'));
  renameSync(outside.at('other'), outside.at('root'));
  await watching.until({ '': 'rescan' });
  outside.write({ 'root/b.md': 'b2' });
  await watching.until({ 'b.md': 'changed' });
  rmSync(outside.at('root'), { recursive: true });
  const end = async () => {
    for (;;) await watching.next();
  };
  await expect(end()).rejects.toMatchObject({
    class: 'transient',
    message: expect.stringContaining('it does not exist'),
  });
});

it('a watch that could not be armed fails with the reason', async () => {
  source = openDirectory(folder, { path: folder.at('nowhere') });
  await expect(Watching.start(source)).rejects.toThrow('could not be read: it does not exist');
});

it('nothing is missed while the thread of the source is busy: 3,000 files written in one turn are all told', async () => {
  await start({ 'd/a': '' });
  for (let at = 0; at < 3_000; at++) writeFileSync(folder.at(`d/${at}`), 'x');
  const wanted = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`d/${at}`, 'changed' as const]));
  await watching.until(wanted);
});

it('a watch stops with the reason of its signal, and another one can follow', async () => {
  await start({ 'a.md': 'a' });
  await watching.stop();
  watching = await Watching.start(source);
  folder.write({ 'a.md': 'b' });
  await watching.until({ 'a.md': 'changed' });
});

it('with pollInterval changes are found by comparison', async () => {
  await start({ 'a.md': 'a', 'd/b.md': 'b' }, { pollInterval: '100ms' });
  folder.write({ 'a.md': 'a2', 'new/c.md': 'c' });
  rmSync(folder.at('d'), { recursive: true });
  await watching.until({ 'a.md': 'changed', 'new/c.md': 'changed', 'd/b.md': 'removed' });
});

type Step =
  | { readonly do: 'write'; readonly path: string; readonly text: string }
  | { readonly do: 'remove'; readonly path: string }
  | { readonly do: 'folder'; readonly path: string }
  | { readonly do: 'move'; readonly path: string; readonly to: string };

it('after random work on a tree, what was told leads from the first listing to the last', async () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ do: fc.constant('write' as const), path, text: fc.string({ maxLength: 3 }) }),
    fc.record({ do: fc.constant('remove' as const), path }),
    fc.record({ do: fc.constant('move' as const), path, to: path }),
    fc.record({ do: fc.constant('folder' as const), path }),
  );
  const apply = (one: Step) => {
    try {
      if (one.do === 'write') folder.write({ [one.path]: one.text });
      else if (one.do === 'folder') mkdirSync(folder.at(one.path), { recursive: true });
      else if (one.do === 'remove') rmSync(folder.at(one.path), { recursive: true, force: true });
      else renameSync(folder.at(one.path), folder.at(one.to));
    } catch {
      // Not every random step is possible, such as writing below a file.
    }
  };
  await start({});
  const known = new Map<string, string>();
  const take = (changes: Readonly<Record<string, string>>) => {
    for (const [key, kind] of Object.entries(changes)) {
      expect(kind).not.toBe('rescan');
      if (kind === 'removed') known.delete(key);
      else known.set(key, contentOf(key));
    }
  };
  const contentOf = (key: string) => readFileSync(folder.at(key), 'utf8');
  const isCurrent = () => [...known].every(([key, text]) => contentOf(key) === text);
  const property = fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
    for (const one of steps) apply(one);
    take(await told());
    const keys = (await keysOf(source)).filter((key) => key !== 'end');
    expect([...known.keys()].toSorted()).toEqual(keys.toSorted());
    // A file that was written twice within moments is told again a moment later; a change that is never told ends in the test's time limit.
    while (!isCurrent()) take(Object.fromEntries((await watching.next()).map(({ key, kind }) => [key, kind])));
  });
  await fc.assert(property, { numRuns: 60 });
});
