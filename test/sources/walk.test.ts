// Walks with a disk that fails single calls: what a superuser's tests cannot meet on a real one. The rest of the disk is real.
import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync, symlinkSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Disk, disk } from '../../runner/sources/directory/disk.ts';
import { directorySettings } from '../../runner/sources/directory/settings.ts';
import { Tree } from '../../runner/sources/directory/tree.ts';
import { Walk } from '../../runner/sources/directory/walk.ts';
import type { DirectorySpec } from '../../runner/sources/index.ts';
import { keysOf, listAll, live, textOf } from './contract.ts';
import { openDirectory, TempFolder } from './folder.ts';

let folder: TempFolder;
beforeEach(() => {
  folder = new TempFolder();
});
afterEach(() => folder.remove());

interface Result {
  readonly keys: string[];
  readonly notes: string[];
  readonly gap: string | undefined;
}

/** Walks with faults: a call on a path below the root fails with this code. */
function walk(
  faults: { [call in keyof Disk]?: Record<string, string> } = {},
  spec: Partial<DirectorySpec> = {},
): Result {
  const failing: Disk = { ...disk };
  for (const [call, codes] of Object.entries(faults) as [keyof Disk, Record<string, string>][]) {
    const real = disk[call] as (path: string) => unknown;
    Object.assign(failing, {
      [call]: (path: string) => {
        const code = codes[path.slice(folder.path.length + 1)];
        if (code !== undefined) throw Object.assign(new Error(`${code}: injected`), { code });
        return real(path);
      },
    });
  }
  const tree = new Tree(directorySettings({ path: folder.path, ...spec }, '/'), failing);
  const notes: string[] = [];
  const walker = new Walk(tree, { note: (text) => notes.push(text) });
  const keys = [...walker.items()].flatMap((item) => item?.key ?? []);
  return { keys, notes, gap: walker.gaps.error('the tree')?.message };
}

it('a folder that cannot be read is a gap, and the walk goes on behind it (F1)', () => {
  folder.write({ 'a/1': '', 'b/2': '', 'c/3': '' });
  const { keys, gap } = walk({ readdir: { b: 'EACCES' } });
  expect(keys).toEqual(['a/1', 'c/3']);
  expect(gap).toBe(
    'the tree could not be listed whole: "b" (permission denied); make them readable or exclude them (nothing is deleted meanwhile)',
  );
});

it('many gaps make a message that stays short', () => {
  const names = Array.from({ length: 9 }, (_, at) => `d${at}`);
  folder.write(Object.fromEntries(names.map((name) => [`${name}/x`, ''])));
  const { gap } = walk({ readdir: Object.fromEntries(names.map((name) => [name, 'EIO'])) });
  expect(gap).toContain('"d4" (the disk could not be read) and 4 more');
});

it('a file that the disk does not tell about is a gap', () => {
  folder.write({ a: '', b: '' });
  expect(walk({ lstat: { a: 'EIO' } })).toMatchObject({ keys: ['b'], gap: expect.stringContaining('"a" (the disk') });
});

it('what vanishes between its name and the look at it is skipped without a gap', () => {
  folder.write({ a: '', 'd/x': '', 'e/y': '' });
  expect(walk({ lstat: { a: 'ENOENT' }, readdir: { d: 'ENOENT', e: 'ENOTDIR' } })).toEqual({
    keys: [],
    notes: [],
    gap: undefined,
  });
});

it('an ignore file that cannot be read is a gap, not a folder without rules', () => {
  folder.write({ 'd/.gitignore': 'x', 'd/x': '', y: '' });
  const { keys, gap } = walk({ readText: { 'd/.gitignore': 'EACCES' } }, { gitignore: true });
  expect(keys).toEqual(['y']);
  expect(gap).toContain('"d" (permission denied)');
});

it('a folder that exclude names is not even opened, so it may be unreadable', () => {
  folder.write({ 'a/1': '', 'lost+found/2': '' });
  expect(walk({ readdir: { 'lost+found': 'EACCES' } }, { exclude: ['lost+found'] })).toMatchObject({
    keys: ['a/1'],
    gap: undefined,
  });
});

it('a folder that include cannot reach is not opened', () => {
  folder.write({ 'src/1': '', 'other/2': '' });
  expect(walk({ readdir: { other: 'EACCES' } }, { include: ['src/**'] })).toMatchObject({
    keys: ['src/1'],
    gap: undefined,
  });
});

it.runIf(process.getuid?.() === 0)(
  'as a user without rights: folders fail the listing after all else was listed, files fail alone',
  () => {
    folder.write({ 'open.md': 'a', 'closed.md': 'b', 'dir/c.md': 'c', 'zone/d.md': 'd' });
    chmodSync(folder.path, 0o755);
    chmodSync(folder.at('closed.md'), 0o000);
    chmodSync(folder.at('dir'), 0o000);
    const program = new URL('./list-as-nobody.ts', import.meta.url).pathname;
    const args = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, program, folder.path];
    const report = JSON.parse(execFileSync('setpriv', args, { encoding: 'utf8', env: { PATH: process.env.PATH } }));
    expect(report).toEqual({
      keys: ['closed.md', 'open.md', 'zone/d.md'],
      listing: { class: 'transient', message: expect.stringContaining('"dir" (permission denied)') },
      reading: {
        class: 'invalid',
        message: '"closed.md" cannot be read: permission denied; make it readable for this user, or exclude it',
      },
    });
  },
);

// ---- links ---------------------------------------------------------------------------------------------------------

const linked = (): TempFolder => {
  const outside = new TempFolder();
  outside.write({ 'secret.txt': 'outside', 'dir/x.txt': 'outside' });
  folder.write({ 'docs/a.md': 'a', 'z.md': 'z' });
  symlinkSync('docs/a.md', folder.at('file-link'));
  symlinkSync('docs', folder.at('dir-link'));
  symlinkSync(outside.at('secret.txt'), folder.at('out-file'));
  symlinkSync(outside.at('dir'), folder.at('out-dir'));
  symlinkSync('..', folder.at('docs/up'));
  symlinkSync('missing', folder.at('dangling'));
  symlinkSync('self', folder.at('self'));
  return outside;
};

const linkPolicies = {
  Ignore: ['docs/a.md', 'z.md'],
  FollowInside: ['dir-link/a.md', 'docs/a.md', 'file-link', 'z.md'],
  Follow: ['dir-link/a.md', 'docs/a.md', 'file-link', 'out-dir/x.txt', 'out-file', 'z.md'],
} as const;

for (const [policy, want] of Object.entries(linkPolicies)) {
  it(`symlinks: ${policy} lists, reads and stats the same items, and circles end`, async () => {
    const outside = linked();
    const source = openDirectory(folder, { symlinks: policy as keyof typeof linkPolicies });
    expect(await keysOf(source)).toEqual(want);
    for (const key of Object.values(linkPolicies).flat()) {
      const isItem = (want as readonly string[]).includes(key);
      expect([key, (await textOf(source, key)) !== undefined]).toEqual([key, isItem]);
      expect([key, (await source.stat(key, live())) !== undefined]).toEqual([key, isItem]);
    }
    await source.close();
    outside.remove();
  });
}

it('links that are left out are notes with the reason', () => {
  const outside = linked();
  expect(walk({}, { symlinks: 'FollowInside' }).notes.toSorted()).toEqual([
    'the symbolic link "dangling" leads nowhere: it does not exist',
    'the symbolic link "dir-link/up" leads to a folder above it and is not entered',
    'the symbolic link "docs/up" leads to a folder above it and is not entered',
    'the symbolic link "out-dir" leads out of the root and is not followed',
    'the symbolic link "out-file" leads out of the root and is not followed',
    'the symbolic link "self" leads nowhere: too many symbolic links',
  ]);
  outside.remove();
});

it('many links to each other make a finite tree', () => {
  for (const from of ['a', 'b', 'c', 'd', 'e']) {
    folder.write({ [`${from}/file`]: '' });
    for (const to of ['a', 'b', 'c', 'd', 'e']) symlinkSync(`../${to}`, folder.at(`${from}/${to}`));
  }
  const { keys } = walk({}, { symlinks: 'FollowInside' });
  expect(keys.length).toBe(5 + 5 * 4);
});

it('a folder swapped for a link out of the root between listing and reading is not read', async () => {
  const outside = linked();
  const source = openDirectory(folder);
  await listAll(source);
  rmSync(folder.at('docs'), { recursive: true });
  outside.write({ 'docs/a.md': 'stolen' });
  symlinkSync(outside.at('docs'), folder.at('docs'));
  expect(await textOf(source, 'docs/a.md')).toBeUndefined();
  rmSync(folder.at('z.md'));
  symlinkSync(outside.at('secret.txt'), folder.at('z.md'));
  expect(await textOf(source, 'z.md')).toBeUndefined();
  await source.close();
  outside.remove();
});

// ---- ignore files --------------------------------------------------------------------------------------------------

it('.gitignore is honoured as git does: compared with git itself', async () => {
  folder.write({
    '.gitignore': '*.log\n/build\nnode_modules/\n!keep.log\n# a comment\ndocs/*.tmp\nfoo\\ bar\nCase\n',
    'a.log': '',
    'keep.log': '',
    'build/x': '',
    'src/build/y': '',
    'node_modules/p/index.js': '',
    'deep/node_modules/q.js': '',
    'docs/a.tmp': '',
    'docs/sub/b.tmp': '',
    'docs/.gitignore': '!a.tmp\nsecret*\n',
    'docs/secret.md': '',
    'docs/deeper/secrets/x': '',
    'deep/.gitignore': '*\n!*/\n!kept.md\n',
    'deep/kept.md': '',
    'deep/lost.md': '',
    'deep/er/kept.md': '',
    'foo bar': '',
    case: '',
  });
  execFileSync('git', ['init', '-q', folder.path]);
  const args = ['-C', folder.path, 'ls-files', '-z', '--others', '--exclude-standard'];
  const git = execFileSync('git', args, { encoding: 'utf8' })
    .split('\0')
    .filter((name) => name !== '');
  const source = openDirectory(folder, { gitignore: true });
  expect(await keysOf(source)).toEqual(git.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  for (const { key } of await listAll(openDirectory(folder)))
    expect([key, (await source.stat(key, live())) !== undefined]).toEqual([key, git.includes(key)]);
  await source.close();
});

it('a root inside a checkout honours the ignore files above it, and .git/info/exclude', async () => {
  folder.write({
    '.gitignore': 'pkg/dist\n*.log\n',
    'pkg/dist/x': '',
    'pkg/a.md': '',
    'pkg/b.log': '',
    'pkg/local.md': '',
  });
  execFileSync('git', ['init', '-q', folder.path]);
  folder.write({ '.git/info/exclude': 'local.md\n' });
  const source = openDirectory(folder, { path: folder.at('pkg'), gitignore: true });
  expect(await keysOf(source)).toEqual(['a.md']);
  await source.close();
});

it('without gitignore nothing is left out', async () => {
  folder.write({ '.gitignore': '*', 'a.md': '' });
  const source = openDirectory(folder);
  expect(await keysOf(source)).toEqual(['.gitignore', 'a.md']);
  await source.close();
});
