// What may be said in `git.url`, `git.ref` and `git.path`.
import { expect, it } from 'vitest';
import { checkedFolder, checkedRef, gitAddress } from '../../runner/sources/git/address.ts';

const taken: Record<string, unknown> = {
  'https://example.com/a/b.git': { kind: 'remote', protocol: 'https' },
  'http://127.0.0.1:8080/a': { kind: 'remote', protocol: 'http' },
  'https://user@example.com/a': { kind: 'remote', protocol: 'https' },
  'ssh://git@example.com:22/a.git': { kind: 'remote', protocol: 'ssh' },
  'git@example.com:team/a.git': { kind: 'remote', protocol: 'ssh' },
  'git://example.com/a': { kind: 'remote', protocol: 'git' },
  'file:///srv/a.git': { kind: 'remote', protocol: 'file' },
  '.': { kind: 'folder', path: '/yaml' },
  './sub': { kind: 'folder', path: '/yaml/sub' },
  '../other': { kind: 'folder', path: '/other' },
  '/srv/a': { kind: 'folder', path: '/srv/a' },
};
for (const [url, want] of Object.entries(taken)) {
  it(`url ${url} is taken`, () => {
    expect(gitAddress(url, '/yaml')).toMatchObject(want as object);
  });
}

const refused = [
  ...[
    '',
    '--upload-pack=touch /tmp/x',
    '-oProxyCommand=x',
    'ext::sh -c touch% x',
    'fd::17/x',
    'ssh://-oProxyCommand=x/a',
  ],
  ...[
    'https://-x/a',
    'ssh://-x@host/a',
    '-x@host:path',
    'https://example.com/a\n--upload-pack=x',
    'file://host/a',
    'ftp://example.com/a',
  ],
  ...['transport::https://example.com', 'a b:c', 'example', 'https://'],
];
for (const url of refused) {
  it(`url ${JSON.stringify(url)} is refused`, () => {
    expect(() => gitAddress(url, '/yaml')).toThrow(/^git\.url: /);
  });
}

it('an address with a password is refused, and the message does not repeat it', () => {
  const refuse = () => gitAddress('https://user:hunter2@example.com/a', '/yaml');
  expect(refuse).toThrow('put it into a Secret and name it in git.auth.tokenFrom');
  expect(refuse).not.toThrow('hunter2');
});

it('refs by the rules of git; nothing that git would read as an option or an expression', () => {
  for (const ref of ['main', 'feature/x', 'v1.2.3', 'refs/heads/main', 'HEAD', 'a'.repeat(40), 'x@y', 'a+b'])
    expect(checkedRef(ref)).toBe(ref);
  const bad = [
    '',
    '-x',
    '--all',
    'a..b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a@{1}',
    'a/',
    '/a',
    'a//b',
    'a.lock',
    '.a',
    'a/.b',
    'a.',
    'a\n',
    'a*',
    '^{/x}',
  ];
  for (const ref of bad) expect(() => checkedRef(ref), ref).toThrow(/is no branch, tag or commit/);
});

it('a folder stays within the repository', () => {
  for (const [path, want] of Object.entries({ docs: 'docs', './docs/': 'docs', '/docs/a': 'docs/a', '.': '', '': '' }))
    expect(checkedFolder(path)).toBe(want);
  expect(checkedFolder(undefined)).toBe('');
  for (const path of ['..', 'a/../../b', 'a//b', 'a/./b', 'a\0'])
    expect(() => checkedFolder(path), path).toThrow(/is no folder within/);
});
