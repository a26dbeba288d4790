// The contract of sources on a folder that holds what real folders hold: names that are not UTF-8, newlines, options, hidden files.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { sourceContract } from './contract.ts';
import { openDirectory, TempFolder } from './folder.ts';

sourceContract('directory', async () => {
  const folder = new TempFolder();
  const files = {
    'readme.md': '# hello',
    'src/a.ts': 'const a = 1;',
    'src/deep/er/b.ts': 'const b = 2;',
    'src/.hidden/c.ts': 'const c = 3;',
    '--upload-pack=x': 'no option',
    'two\nlines.txt': 'a newline in the name',
    'grün und 日本.txt': 'umlaut',
    '100%25 \\ "quoted".txt': 'signs',
  };
  folder.write({
    ...files,
    '.git/config': 'not an item',
    'src/skipped.lock': 'not an item',
    'out/x.txt': 'not an item',
  });
  writeFileSync(Buffer.concat([Buffer.from(`${folder.path}/bad-`), Buffer.from([0xff, 0xfe])]), 'not UTF-8');
  writeFileSync(folder.at('real-\uFFFD.txt'), 'the mark itself');
  mkdirSync(folder.at('empty'));
  symlinkSync('readme.md', folder.at('link.md'));
  symlinkSync('src', folder.at('linked'));
  const source = openDirectory(folder, { exclude: ['**/*.lock', 'out'] });
  const odd = { 'bad-\uFFFDFF\uFFFDFE': 'not UTF-8', 'real-\uFFFDEF\uFFFDBF\uFFFDBD.txt': 'the mark itself' };
  return {
    source,
    items: new Map(Object.entries({ ...files, ...odd })),
    strangers: [
      ...['.git/config', 'src/skipped.lock', 'out/x.txt', 'link.md', 'linked/a.ts', 'empty', 'src'],
      ...['src/', './readme.md', 'src//a.ts', 'src/../readme.md', 'real-\uFFFD.txt'],
    ],
    close: async () => {
      await source.close();
      folder.remove();
    },
  };
});
