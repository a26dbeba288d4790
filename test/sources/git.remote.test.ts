// The source `git` on repositories elsewhere: real git over http (with a password), git, ssh and file, on the loopback.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Source } from '../../runner/execute/index.ts';
import type { GitSpec, SourceOptions } from '../../runner/sources/index.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { keysOf, listAll, live, rejection, textOf } from './contract.ts';
import { HttpHost, openGit, Repo, serveByDaemon } from './repository.ts';
import { Watching } from './watching.ts';

let repo: Repo;
const closing: (() => Promise<void> | void)[] = [];
const open = (spec: Partial<GitSpec>, options: Partial<SourceOptions> = {}): Source => {
  const source = openGit(repo, spec, options);
  closing.push(() => source.close());
  return source;
};
const serve = async (login?: string): Promise<HttpHost> => {
  const host = await HttpHost.start(repo, login);
  closing.push(() => host.close());
  return host;
};
const fileUrl = () => `file://${repo.path}`;
const copies = () => readdirSync(`${repo.path}-cache`).filter((name) => name.startsWith('git-'));
const copy = () => join(`${repo.path}-cache`, copies()[0] ?? '');
const secretFrom = { env: 'TOKEN' };

beforeEach(() => {
  repo = new Repo();
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  repo.remove();
});

it('over http: listed, read, and the next commit too', async () => {
  const commit = repo.commit({ 'a.md': 'one', 'd/b.md': 'two' });
  const source = open({ url: (await serve()).url(repo) });
  expect(await keysOf(source)).toEqual(['a.md', 'd/b.md']);
  expect(source.revision?.()).toBe(commit);
  expect(await textOf(source, 'd/b.md')).toBe('two');
  repo.commit({ 'c.md': 'three' });
  expect(await keysOf(source)).toEqual(['a.md', 'c.md', 'd/b.md']);
  expect(await textOf(source, 'c.md')).toBe('three');
});

it('over the git protocol', async () => {
  repo.commit({ 'a.md': 'one' });
  const daemon = await serveByDaemon(repo);
  closing.push(daemon.close);
  const source = open({ url: daemon.url });
  expect(await textOf(source, 'a.md')).toBe('one');
});

it('refs elsewhere: default branch, branch, tag, annotated tag, commit', async () => {
  const first = repo.commit({ 'a.md': 'first' });
  repo.git('tag', 'plain');
  repo.git('tag', '-a', '-m', 'a tag', 'noted');
  repo.git('branch', 'team/x');
  const second = repo.commit({ 'a.md': 'second' });
  for (const [ref, want] of [
    [undefined, second],
    ['main', second],
    ['plain', first],
    ['noted', first],
    ['team/x', first],
    [first, first],
  ] as const) {
    const source = open({ url: fileUrl(), ref });
    await listAll(source);
    expect([ref, source.revision?.()]).toEqual([ref, want]);
  }
});

it('the copy is shallow, and a new commit brings only its own objects', async () => {
  for (let at = 0; at < 5; at++)
    repo.commit(Object.fromEntries(Array.from({ length: 20 }, (_, file) => [`f${file}`, `${at} ${file}`])));
  const source = open({ url: fileUrl() });
  await listAll(source);
  const objects = () =>
    Number(execFileSync('sh', ['-c', `git --git-dir=${copy()} cat-file --batch-all-objects --batch-check | wc -l`]));
  expect(objects()).toBe(22);
  repo.commit({ f0: 'new' });
  await listAll(source);
  expect(objects()).toBe(25);
});

it('depth fetches that many commits', async () => {
  for (let at = 0; at < 5; at++) repo.commit({ a: String(at) });
  await listAll(open({ url: fileUrl(), depth: 3 }));
  expect(
    execFileSync('git', [`--git-dir=${copy()}`, 'rev-list', '--count', 'refs/fairlead/head'])
      .toString()
      .trim(),
  ).toBe('3');
});

it('a forced push is a move like any other', async () => {
  repo.commit({ 'a.md': 'one' });
  repo.commit({ 'b.md': 'two' });
  const source = open({ url: fileUrl() });
  const watching = await Watching.start(open({ url: fileUrl(), pollInterval: '1s' }));
  await listAll(source);
  repo.git('reset', '-q', '--hard', 'HEAD~1');
  repo.commit({ 'c.md': 'three' });
  expect(await keysOf(source)).toEqual(['a.md', 'c.md']);
  expect(await watching.until({ 'b.md': 'removed' })).toEqual(
    new Map([
      ['b.md', 'removed'],
      ['c.md', 'changed'],
    ]),
  );
  await watching.stop();
});

it('an empty repository, a lost ref, a server that answers 503 or is not there: the listing fails, nothing is listed (F1)', async () => {
  await expect(listAll(open({ url: fileUrl() }))).rejects.toThrow('has no commit yet');
  repo.commit({ a: 'a' });
  await expect(listAll(open({ url: fileUrl(), ref: 'gone' }))).rejects.toThrow(
    'has no branch or tag "gone"; nothing is deleted meanwhile',
  );
  await expect(listAll(open({ url: fileUrl(), ref: 'f'.repeat(40) }))).rejects.toMatchObject({ class: 'transient' });
  const host = await serve();
  const source = open({ url: host.url(repo) });
  await listAll(source);
  host.intercept = (_request, response) => {
    response.writeHead(503).end('later');
    return true;
  };
  await expect(listAll(source)).rejects.toMatchObject({ class: 'transient', message: expect.stringContaining('503') });
  host.intercept = undefined;
  expect(await keysOf(source)).toEqual(['a']);
  await host.close();
  await expect(listAll(source)).rejects.toMatchObject({ class: 'transient' });
});

it('a server that never answers is given up after its time, and a cancelled listing does not wait for it', async () => {
  repo.commit({ a: 'a' });
  const host = await serve();
  const asked: (() => void)[] = [];
  host.intercept = () => {
    for (const wake of asked.splice(0)) wake();
    return true;
  };
  const isAsked = () => new Promise<void>((wake) => asked.push(wake));
  const clock = new VirtualClock();
  const listing = rejection(listAll(open({ url: host.url(repo) }, { clock })));
  await isAsked();
  clock.advance(60_000);
  expect(await listing).toMatchObject({
    class: 'timeout',
    message: expect.stringContaining('did not answer within 60 s'),
  });
  const stop = new AbortController();
  const cancelled = rejection(listAll(open({ url: host.url(repo) }), stop.signal));
  await isAsked();
  stop.abort(new Error('enough'));
  expect(await cancelled).toMatchObject({ message: 'enough' });
});

it('closing a source ends what it waits for', async () => {
  repo.commit({ a: 'a' });
  const host = await serve();
  const asked = new Promise<void>((resolve) => {
    host.intercept = () => {
      resolve();
      return true;
    };
  });
  const source = open({ url: host.url(repo) });
  const listing = rejection(listAll(source));
  await asked;
  await source.close();
  expect(await listing).toMatchObject({ message: 'the source was closed' });
});

// ---- credentials ---------------------------------------------------------------------------------------------------

it('a token reaches only the host of the address; it is in no argument, no variable, no message and no file afterwards', async () => {
  repo.commit({ 'a.md': 'one' });
  const token = 'tok%en:/@ü"1';
  const host = await serve(`robot:${token}`);
  const bin = repo.at('.git/bin');
  const log = repo.at('.git/log');
  mkdirSync(bin);
  const real = execFileSync('which', ['git']).toString().trim();
  writeFileSync(join(bin, 'git'), `#!/bin/sh\n{ printf '%s\\n' "$@"; env; } >> ${log}\nexec ${real} "$@"\n`, {
    mode: 0o755,
  });
  const path = process.env.PATH;
  process.env.PATH = `${bin}:${path}`;
  try {
    const source = open(
      { url: host.url(repo), auth: { username: 'robot', tokenFrom: secretFrom } },
      { secret: async () => `${token}\n` },
    );
    expect(await textOf(source, 'a.md')).toBe('one');
  } finally {
    process.env.PATH = path;
  }
  const traces = readFileSync(log, 'utf8');
  expect(traces).toContain('ls-remote');
  for (const form of [token, encodeURIComponent(token), Buffer.from(`robot:${token}`).toString('base64')])
    expect(traces).not.toContain(form);
  expect(readdirSync(`${repo.path}-cache`).filter((name) => name.startsWith('login-'))).toEqual([]);
  const left = readdirSync(`${repo.path}-cache`, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  for (const entry of left) expect(readFileSync(join(entry.parentPath, entry.name), 'latin1')).not.toContain('tok%');
});

it('a wrong token fails with a message that names the host and not the token; the next look takes the new one', async () => {
  repo.commit({ 'a.md': 'one' });
  const host = await serve('git:right');
  let token = 'wrong-secret';
  const source = open({ url: host.url(repo), auth: { tokenFrom: secretFrom } }, { secret: async () => token });
  const error = await rejection(listAll(source));
  expect(error).toMatchObject({ class: 'transient', message: expect.stringContaining('127.0.0.1') });
  expect(String(error)).toContain('look whether it still takes what git.auth names');
  expect(String(error)).not.toContain('wrong-secret');
  token = 'right';
  expect(await keysOf(source)).toEqual(['a.md']);
});

it('without a token a server that wants one is an error, not a question', async () => {
  repo.commit({ 'a.md': 'one' });
  const host = await serve('git:right');
  await expect(listAll(open({ url: host.url(repo) }))).rejects.toMatchObject({
    class: 'transient',
    message: expect.stringContaining('set git.auth.tokenFrom'),
  });
});

it('a redirect to another host does not take the token along', async () => {
  repo.commit({ 'a.md': 'one' });
  const thief = await serve('git:never');
  const host = await serve('git:right');
  host.intercept = (request, response) => {
    const target = thief.url(repo).replace('127.0.0.1', 'localhost');
    response
      .writeHead(302, { location: target + (request.url ?? '').slice((request.url ?? '').indexOf('/.git') + 5) })
      .end();
    return true;
  };
  await rejection(
    listAll(open({ url: host.url(repo), auth: { tokenFrom: secretFrom } }, { secret: async () => 'right' })),
  );
  expect(thief.requests.length).toBeGreaterThan(0);
  expect(thief.requests.map(({ authorization }) => authorization).filter((one) => one !== undefined)).toEqual([]);
});

it('a secret that cannot be had fails with its own words', async () => {
  const secret = async () => {
    throw new Error('the Secret "index-git" has no key "token"');
  };
  await expect(
    listAll(open({ url: 'http://127.0.0.1:1/x', auth: { tokenFrom: secretFrom } }, { secret })),
  ).rejects.toThrow('the Secret "index-git" has no key "token"');
});

it('over ssh: key and known hosts are files of this user for as long as the call lasts, host keys are checked', async () => {
  repo.commit({ 'a.md': 'one' });
  const bin = repo.at('.git/bin');
  mkdirSync(bin);
  const seen = repo.at('.git/seen');
  // Stands for the ssh program: notes how it was called and what the key file is, then runs the command that ssh would run elsewhere.
  const program = `#!/bin/sh
printf '%s\\n' "$@" > ${seen}
while [ $# -gt 0 ]; do case "$1" in -i) stat -c 'mode %a' "$2" >> ${seen}; cat "$2" >> ${seen}; shift 2;; -o|-F|-p) shift 2;; -*) shift;; *) break;; esac; done
shift
exec sh -c "$*"
`;
  writeFileSync(join(bin, 'ssh'), program);
  chmodSync(join(bin, 'ssh'), 0o755);
  const path = process.env.PATH;
  process.env.PATH = `${bin}:${path}`;
  try {
    const auth = { sshKeyFrom: { env: 'KEY' }, knownHostsFrom: { env: 'HOSTS' } };
    const source = open({ url: `git@example.com:${repo.path}`, auth }, { secret: async ({ env }) => `the ${env}` });
    expect(await textOf(source, 'a.md')).toBe('one');
  } finally {
    process.env.PATH = path;
  }
  const called = readFileSync(seen, 'utf8');
  for (const part of ['BatchMode=yes', 'StrictHostKeyChecking=yes', 'IdentitiesOnly=yes', 'mode 600', 'the KEY'])
    expect(called).toContain(part);
  expect(called).toMatch(/UserKnownHostsFile="[^"]*\/known_hosts"/);
  expect(readdirSync(`${repo.path}-cache`).filter((name) => name.startsWith('login-'))).toEqual([]);
});

it('a token for an ssh address is refused with advice', async () => {
  const source = open({ url: 'git@example.com:x', auth: { tokenFrom: secretFrom } });
  await expect(listAll(source)).rejects.toMatchObject({
    class: 'invalid',
    message: expect.stringContaining('ssh takes git.auth.sshKeyFrom'),
  });
});

// ---- freshness and the copy ----------------------------------------------------------------------------------------

it('fifty looks at once ask the server once or twice, not fifty times', async () => {
  repo.commit({ 'a.md': 'one' });
  const host = await serve();
  const source = open({ url: host.url(repo) });
  await listAll(source);
  const before = host.requests.length;
  const nowMs = Date.now();
  await Promise.all(Array.from({ length: 50 }, () => source.stat('a.md', live(), nowMs)));
  expect(host.requests.length - before).toBeLessThanOrEqual(4);
});

it('reading what was listed asks the server nothing; a version that another runner saw makes it look again', async () => {
  repo.commit({ 'a.md': 'one' });
  const host = await serve();
  const clock = new VirtualClock();
  const source = open({ url: host.url(repo) }, { clock });
  const [item] = await listAll(source);
  const before = host.requests.length;
  clock.advance(60_000);
  expect(await textOf(source, 'a.md', item?.version)).toBe('one');
  expect(host.requests.length).toBe(before);
  repo.commit({ 'a.md': 'two' });
  expect(await textOf(source, 'a.md', repo.git('rev-parse', 'HEAD:a.md'))).toBe('two');
});

it('a look that must be as new as a change sees that change', async () => {
  repo.commit({ 'a.md': 'one' });
  const clock = new VirtualClock();
  const source = open({ url: fileUrl() }, { clock });
  const [old] = await listAll(source);
  repo.commit({ 'a.md': 'two' });
  expect(await source.stat('a.md', live())).toEqual(old);
  clock.advance(1);
  expect((await source.stat('a.md', live(), clock.nowMs()))?.version).toBe(repo.git('rev-parse', 'HEAD:a.md'));
});

it('a watch of a remote looks at its interval and tells the difference', async () => {
  repo.commit({ 'a.md': 'one' });
  const clock = new VirtualClock();
  const watching = await Watching.start(open({ url: fileUrl(), pollInterval: '30s' }, { clock }));
  repo.commit({ 'b.md': 'two' });
  const told = watching.until({ 'b.md': 'changed' });
  while (clock.pending() === 0) await settle();
  clock.advance(30_000);
  expect(await told).toEqual(new Map([['b.md', 'changed']]));
  await watching.stop();
});

it('a copy that an earlier process left is used again, also where that process died with locks held', async () => {
  repo.commit({ 'a.md': 'one' });
  const host = await serve();
  await listAll(open({ url: host.url(repo) }));
  for (const lock of ['shallow.lock', 'config.lock', 'refs/fairlead/head.lock', 'packed-refs.lock'])
    writeFileSync(join(copy(), lock), '');
  const fetches = () => host.requests.filter(({ url }) => url.endsWith('/git-upload-pack')).length;
  const before = fetches();
  expect(await textOf(open({ url: host.url(repo) }), 'a.md')).toBe('one');
  expect(fetches() - before).toBe(1);
  repo.commit({ 'a.md': 'two' });
  expect(await textOf(open({ url: host.url(repo) }), 'a.md')).toBe('two');
  expect(copies().length).toBe(1);
});

it('a copy that is broken is thrown away and made again', async () => {
  repo.commit({ 'a.md': 'one' });
  await listAll(open({ url: fileUrl() }));
  for (const name of readdirSync(join(copy(), 'objects/pack')))
    writeFileSync(join(copy(), 'objects/pack', name), 'broken');
  writeFileSync(join(copy(), 'shallow'), 'broken');
  repo.commit({ 'b.md': 'two' });
  const source = open({ url: fileUrl() });
  expect(await keysOf(source)).toEqual(['a.md', 'b.md']);
  expect(await textOf(source, 'a.md')).toBe('one');
});

it('two sources of one repository keep copies of their own', async () => {
  repo.commit({ 'a.md': 'one' });
  await Promise.all([
    listAll(open({ url: fileUrl() }, { name: 'one' })),
    listAll(open({ url: fileUrl() }, { name: 'two' })),
  ]);
  expect(copies().length).toBe(2);
  expect(existsSync(repo.at('.git/shallow'))).toBe(false);
  expect(statSync(copy()).isDirectory()).toBe(true);
});
