// The contract of sources on real repositories: one read where it lies, one fetched over the file protocol.
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { sourceContract, type World } from './contract.ts';
import { openGit, Repo } from './repository.ts';

const FILES = {
  'readme.md': '# hello',
  'src/a.ts': 'const a = 1;',
  'src/deep/er/b.ts': 'const b = 2;',
  'src/.hidden/c.ts': 'const c = 3;',
  '--upload-pack=x': 'no option',
  'two\nlines.txt': 'a newline in the name',
  'grün und 日本.txt': 'umlaut',
  'run.sh': 'an executable',
};

function world(address: (repo: Repo) => string, ...init: readonly string[]): () => Promise<World> {
  return async () => {
    const repo = new Repo(...init);
    repo.write({ ...FILES, 'src/skipped.lock': 'not an item', 'out/x.txt': 'not an item' });
    writeFileSync(Buffer.concat([Buffer.from(`${repo.path}/bad-`), Buffer.from([0xff, 0xfe])]), 'not UTF-8');
    chmodSync(repo.at('run.sh'), 0o755);
    symlinkSync('readme.md', repo.at('link.md'));
    repo.commit();
    repo.write({ 'not-committed.txt': 'work in progress', 'readme.md': 'edited' });
    const source = openGit(repo, { url: address(repo), exclude: ['**/*.lock', 'out'] });
    return {
      source,
      items: new Map(Object.entries({ ...FILES, 'bad-\uFFFDFF\uFFFDFE': 'not UTF-8' })),
      strangers: [
        'src/skipped.lock',
        'out/x.txt',
        'link.md',
        'src',
        'src/',
        'not-committed.txt',
        './readme.md',
        'HEAD',
      ],
      close: async () => {
        await source.close();
        repo.remove();
      },
    };
  };
}

sourceContract(
  'git in a folder',
  world((repo) => repo.path),
);
sourceContract(
  'git by a file address',
  world((repo) => `file://${repo.path}`),
);
sourceContract(
  'git with SHA-256 hashes',
  world((repo) => repo.path, '--object-format=sha256'),
);
