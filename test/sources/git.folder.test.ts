// The source `git` on repositories of this machine, read where they lie.
import { execFileSync } from 'node:child_process';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Source } from '../../runner/execute/index.ts';
import type { GitSpec } from '../../runner/sources/index.ts';
import { keysOf, listAll, live, rejection, textOf } from './contract.ts';
import { TempFolder } from './folder.ts';
import { openGit, Repo } from './repository.ts';
import { Watching } from './watching.ts';

let repo: Repo;
const opened: Source[] = [];
const open = (spec: Partial<GitSpec> = {}): Source => {
  const source = openGit(repo, spec);
  opened.push(source);
  return source;
};
beforeEach(() => {
  repo = new Repo();
});
afterEach(async () => {
  for (const source of opened.splice(0)) await source.close();
  repo.remove();
});

it('without a ref the commit that is checked out is read, and not what is edited since', async () => {
  const commit = repo.commit({ 'a.md': 'committed' });
  repo.write({ 'a.md': 'edited', 'b.md': 'new' });
  const source = open();
  expect(await keysOf(source)).toEqual(['a.md']);
  expect(await textOf(source, 'a.md')).toBe('committed');
  expect(source.revision?.()).toBe(commit);
  repo.commit();
  expect(await keysOf(source)).toEqual(['a.md', 'b.md']);
  expect(await textOf(source, 'a.md')).toBe('edited');
});

it('with worktree the files are read as they lie there, ignored ones left out', async () => {
  repo.commit({ 'a.md': 'committed', '.gitignore': '*.log', 'docs/b.md': 'b' });
  repo.write({ 'a.md': 'edited', 'c.log': 'ignored', 'docs/new.md': 'new' });
  expect(await keysOf(open({ worktree: true }))).toEqual(['.gitignore', 'a.md', 'docs/b.md', 'docs/new.md']);
  const narrowed = open({ worktree: true, path: 'docs' });
  expect(await keysOf(narrowed)).toEqual(['docs/b.md', 'docs/new.md']);
  expect(await textOf(narrowed, 'docs/new.md')).toBe('new');
  expect(await textOf(narrowed, 'a.md')).toBeUndefined();
  expect(() => open({ worktree: true, ref: 'main' })).toThrow('git.worktree needs a folder as url, and no ref');
});

it('refs: branch, tag, annotated tag, full and short hash, remote branch; a branch goes before a tag of its name', async () => {
  const first = repo.commit({ 'a.md': 'first' });
  repo.git('tag', 'plain');
  repo.git('tag', '-a', '-m', 'a tag', 'noted');
  repo.git('update-ref', 'refs/remotes/origin/theirs', first);
  repo.git('branch', 'team/x');
  repo.git('tag', 'both');
  const second = repo.commit({ 'a.md': 'second' });
  repo.git('branch', 'both');
  for (const ref of ['plain', 'noted', 'team/x', first, first.slice(0, 10), 'theirs', 'refs/tags/both']) {
    const source = open({ ref });
    await listAll(source);
    expect([ref, source.revision?.()]).toEqual([ref, first]);
  }
  const branch = open({ ref: 'both' });
  await listAll(branch);
  expect(branch.revision?.()).toBe(second);
});

it('a ref, a folder or a commit that is not there fails the listing, so that nothing is deleted (F1)', async () => {
  await expect(listAll(open())).rejects.toMatchObject({
    class: 'transient',
    message: expect.stringContaining('has no commit on its current branch yet'),
  });
  repo.commit({ 'a.md': 'a' });
  await expect(listAll(open({ ref: 'gone' }))).rejects.toThrow(
    'has no branch, tag or commit "gone"; nothing is deleted meanwhile',
  );
  await expect(listAll(open({ path: 'dosc' }))).rejects.toThrow(
    'the commit has no folder "dosc"; nothing is deleted meanwhile',
  );
  await expect(listAll(open({ path: 'a.md' }))).rejects.toThrow('the commit has no folder "a.md"');
});

it('a folder that is no repository is refused with the reason', async () => {
  const plain = new TempFolder();
  await expect(listAll(open({ url: plain.path }))).rejects.toMatchObject({
    class: 'invalid',
    message: expect.stringContaining('not a git repository'),
  });
  await expect(listAll(open({ url: plain.at('nowhere') }))).rejects.toThrow('does not exist');
  plain.remove();
});

it('path narrows to a folder; keys and globs stay those of the repository', async () => {
  repo.commit({ 'a.md': '', 'docs/b.md': '', 'docs/c.txt': '', 'docs/sub/d.md': '', 'docs2/e.md': '' });
  expect(await keysOf(open({ path: 'docs' }))).toEqual(['docs/b.md', 'docs/c.txt', 'docs/sub/d.md']);
  const both = open({ path: './docs/', include: ['docs/**/*.md'], exclude: ['docs/sub'] });
  expect(await keysOf(both)).toEqual(['docs/b.md']);
  expect(await both.stat('a.md', live())).toBeUndefined();
  expect(await both.stat('docs/sub/d.md', live())).toBeUndefined();
});

it('submodules and links are left out with a note', async () => {
  const other = new Repo();
  other.commit({ 'x.md': 'x' });
  repo.write({ 'a.md': 'a' });
  symlinkSync('a.md', repo.at('link'));
  repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.path, 'libs/other');
  repo.commit();
  const source = open();
  expect(await keysOf(source)).toEqual(['.gitmodules', 'a.md']);
  expect(source.takeNotes?.()).toEqual([
    '"libs/other" is a submodule and is left out; give it a LiveSource of its own',
    '"link" is a symbolic link and is not followed',
  ]);
  expect(await textOf(source, 'libs/other')).toBeUndefined();
  expect(await textOf(source, 'link')).toBeUndefined();
  other.remove();
});

it('a Git LFS pointer is refused as what it is and counted in a note; a text that only quotes one is not', async () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12345\n`;
  repo.commit({
    'model.bin': pointer,
    'doc.md': `A pointer looks so:\n${pointer}`,
    'long.md': pointer + 'x'.repeat(2_000),
  });
  const source = open();
  const error = await rejection(textOf(source, 'model.bin'));
  expect(error).toMatchObject({
    class: 'invalid',
    message: expect.stringContaining('"model.bin" is a Git LFS pointer, not the file itself'),
  });
  expect(await textOf(source, 'doc.md')).toContain('A pointer');
  expect((await textOf(source, 'long.md'))?.length).toBeGreaterThan(2_000);
  expect(source.takeNotes?.()).toEqual(['1 item is a Git LFS pointer and was refused']);
});

it('the version is the hash of the content: equal content has equal versions in every commit and file', async () => {
  repo.commit({ 'a.md': 'same', 'b.md': 'same' });
  const source = open();
  const [a, b] = await listAll(source);
  expect(a?.version).toBe(b?.version);
  expect(a?.version).toBe(repo.git('hash-object', 'a.md'));
  repo.git('mv', 'a.md', 'c.md');
  repo.commit({ 'b.md': 'other' });
  expect((await listAll(source)).find(({ key }) => key === 'c.md')?.version).toBe(a?.version);
});

it('a read gives what the ref names now, whatever version was asked for', async () => {
  repo.commit({ 'a.md': 'one', 'b.md': 'b' });
  const source = open();
  const [old] = await listAll(source);
  repo.git('rm', '-q', 'b.md');
  repo.commit({ 'a.md': 'two' });
  expect(await textOf(source, 'a.md', old?.version)).toBe('two');
  expect(await textOf(source, 'b.md')).toBeUndefined();
});

it('reading goes on over a repack and a garbage collection', async () => {
  repo.commit({ 'a.md': 'one', 'd/b.md': 'two' });
  const source = open();
  expect(await textOf(source, 'a.md')).toBe('one');
  repo.git('gc', '-q', '--prune=now');
  expect(await textOf(source, 'd/b.md')).toBe('two');
  repo.commit({ 'a.md': 'three' });
  repo.git('gc', '-q', '--prune=now');
  expect(await textOf(source, 'a.md')).toBe('three');
  expect(await keysOf(source)).toEqual(['a.md', 'd/b.md']);
});

it('big and empty blobs are read whole, many at once', async () => {
  const big = 'x'.repeat(700_000);
  repo.commit({
    big,
    empty: '',
    small: 's',
    ...Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`n/${at}`, `text ${at}`])),
  });
  const source = open();
  const texts = await Promise.all((await keysOf(source)).map(async (key) => [key, await textOf(source, key)] as const));
  expect(new Map(texts)).toEqual(
    new Map([
      ['big', big],
      ['empty', ''],
      ...Array.from({ length: 50 }, (_, at) => [`n/${at}`, `text ${at}`] as const),
      ['small', 's'],
    ]),
  );
});

it('a linked worktree, a bare repository and a folder below the top are repositories too', async () => {
  repo.commit({ 'a.md': 'main', 'sub/b.md': 'b' });
  const other = new TempFolder();
  repo.git('worktree', 'add', '-q', '-b', 'side', other.at('side'));
  repo.git('clone', '-q', '--bare', '.', other.at('bare.git'));
  writeFileSync(other.at('side/a.md'), 'side');
  execFileSync('git', ['-C', other.at('side'), '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qam', 'x']);
  expect(await textOf(open({ url: other.at('side') }), 'a.md')).toBe('side');
  expect(await textOf(open({ url: other.at('bare.git') }), 'a.md')).toBe('main');
  expect(await keysOf(open({ url: repo.at('sub') }))).toEqual(['a.md', 'sub/b.md']);
  other.remove();
});

it('variables of a git hook around this process do not lead it elsewhere', async () => {
  const other = new Repo();
  other.commit({ 'other.md': '' });
  repo.commit({ 'a.md': '' });
  process.env.GIT_DIR = other.at('.git');
  process.env.GIT_INDEX_FILE = other.at('.git/index');
  try {
    expect(await keysOf(open())).toEqual(['a.md']);
  } finally {
    delete process.env.GIT_DIR;
    delete process.env.GIT_INDEX_FILE;
    other.remove();
  }
});

it('no program that the settings of a repository name is run', async () => {
  repo.commit({ 'a.md': 'a', '.gitattributes': '* filter=evil diff=evil' });
  const mark = repo.at('ran');
  for (const name of [
    'core.fsmonitor',
    'core.sshCommand',
    'core.pager',
    'filter.evil.smudge',
    'diff.evil.textconv',
    'core.askPass',
    'credential.helper',
  ])
    repo.git('config', name, `touch ${mark} #`);
  repo.git('config', 'extensions.partialClone', 'origin');
  repo.git('config', 'remote.origin.url', `ext::touch ${mark}`);
  repo.git('config', 'remote.origin.promisor', 'true');
  repo.git('config', 'protocol.ext.allow', 'always');
  const source = open();
  expect(await keysOf(source)).toEqual(['.gitattributes', 'a.md']);
  expect(await textOf(source, 'a.md')).toBe('a');
  execFileSync('find', [repo.at('.git/objects'), '-type', 'f', '-delete']);
  await expect(listAll(open())).rejects.toMatchObject({ class: 'transient' });
  expect(existsSync(mark)).toBe(false);
});

// ---- watching ------------------------------------------------------------------------------------------------------

it('a commit tells exactly the files that differ', async () => {
  repo.commit({ 'a.md': '1', 'same.md': 's', 'd/b.md': '2', 'd/same.md': 's', 'gone/c.md': '3' });
  const source = open();
  const watching = await Watching.start(source);
  repo.git('rm', '-q', 'gone/c.md');
  repo.commit({ 'a.md': 'new', 'd/b.md': 'new', 'x/y/z.md': 'new' });
  expect(await watching.until({ 'a.md': 'changed' })).toEqual(
    new Map([
      ['gone/c.md', 'removed'],
      ['a.md', 'changed'],
      ['d/b.md', 'changed'],
      ['x/y/z.md', 'changed'],
    ]),
  );
  await watching.stop();
});

it('another branch in the checkout tells the difference of the trees, and back again the same keys (F4)', async () => {
  repo.commit({ 'a.md': 'main', 'both.md': 'b' });
  repo.git('checkout', '-q', '-b', 'deep/side');
  repo.git('rm', '-q', 'a.md');
  repo.commit({ 'side.md': 'side' });
  repo.git('checkout', '-q', 'main');
  const watching = await Watching.start(open());
  repo.git('checkout', '-q', 'deep/side');
  expect(await watching.until({ 'a.md': 'removed' })).toEqual(
    new Map([
      ['a.md', 'removed'],
      ['side.md', 'changed'],
    ]),
  );
  repo.commit({ 'side.md': 'side 2' });
  await watching.until({ 'side.md': 'changed' });
  repo.git('checkout', '-q', 'main');
  expect(await watching.until({ 'a.md': 'changed' })).toEqual(
    new Map([
      ['side.md', 'removed'],
      ['a.md', 'changed'],
    ]),
  );
  await watching.stop();
});

it('commits are told over packed refs, forced moves and a branch that is made anew', async () => {
  repo.commit({ 'a.md': '1' });
  repo.git('branch', 'team/x');
  const watching = await Watching.start(open({ ref: 'team/x' }));
  repo.git('pack-refs', '--all', '--prune');
  repo.commit({ 'a.md': '2' });
  repo.git('update-ref', 'refs/heads/team/x', 'main');
  await watching.until({ 'a.md': 'changed' });
  repo.git('pack-refs', '--all', '--prune');
  repo.git('branch', '-q', '-f', 'team/x', 'main~1');
  await watching.until({ 'a.md': 'changed' });
  repo.commit({ 'b.md': 'b' });
  repo.git('branch', '-q', '-f', 'team/x', 'main');
  await watching.until({ 'b.md': 'changed' });
  await watching.stop();
});

it('what is excluded is not told, and a commit without changes of items tells nothing', async () => {
  repo.commit({ 'docs/a.md': '1', 'b.lock': '1' });
  const watching = await Watching.start(open({ path: 'docs', exclude: ['**/*.lock'] }));
  repo.commit({ 'b.lock': '2', 'other.md': 'x', 'docs/c.lock': 'x' });
  repo.commit({ 'docs/a.md': '2' });
  expect(await watching.until({ 'docs/a.md': 'changed' })).toEqual(new Map([['docs/a.md', 'changed']]));
  await watching.stop();
});

it('a file that becomes a folder, a link or a submodule is removed', async () => {
  repo.commit({ one: 'file', two: 'file' });
  const watching = await Watching.start(open());
  repo.git('rm', '-q', 'one', 'two');
  symlinkSync('x', repo.at('two'));
  repo.commit({ 'one/x': 'in a folder' });
  expect(await watching.until({ 'one/x': 'changed' })).toEqual(
    new Map([
      ['one', 'removed'],
      ['two', 'removed'],
      ['one/x', 'changed'],
    ]),
  );
  await watching.stop();
});

it('a watch on a ref that goes away ends with the reason', async () => {
  repo.commit({ a: 'a' });
  repo.git('branch', 'side');
  const watching = await Watching.start(open({ ref: 'side' }));
  repo.git('branch', '-q', '-D', 'side');
  await expect(watching.next()).rejects.toThrow('has no branch, tag or commit "side"');
});
