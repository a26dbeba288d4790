// The contract of sources on a real web server on the loopback: by sitemap and by list.

import { openSource } from '../../runner/sources/index.ts';
import { sourceContract } from './contract.ts';
import { sourceOptions, TempFolder } from './folder.ts';
import { Site } from './site.ts';

const PAGES = {
  '/': 'the start page',
  '/docs/a': 'page a',
  '/docs/b?x=1&y=2': 'page b',
  '/gr%C3%BCn': 'page with an odd name',
} as const;

const world = (kind: 'sitemap' | 'list') => async () => {
  const folder = new TempFolder();
  const site = await Site.start({
    ...PAGES,
    '/docs/dated': { body: 'dated', validator: 'modified' },
    '/docs/bare': { body: 'bare', validator: 'none' },
  });
  const paths = [...Object.keys(PAGES), '/docs/dated', '/docs/bare'];
  const sitemap = site.sitemap([...paths, '/docs/gone', '/private/x']);
  const list = [...paths, '/docs/gone', '/private/x'].map((path) => site.url + path);
  const source = openSource(
    { http: { ...(kind === 'sitemap' ? { sitemap } : { list }), exclude: ['private/**'] } },
    sourceOptions(folder),
  );
  const texts: Record<string, string> = { ...PAGES, '/docs/dated': 'dated', '/docs/bare': 'bare' };
  return {
    source,
    items: new Map(paths.map((path) => [site.url + path, texts[path] ?? ''])),
    strangers: [
      `${site.url}/docs/gone`,
      `${site.url}/private/x`,
      `${site.url}/docs/a#part`,
      'http://example.invalid/',
      'file:///etc/passwd',
    ],
    close: async () => {
      await source.close();
      await site.close();
      folder.remove();
    },
  };
};

sourceContract('http by sitemap', world('sitemap'));
sourceContract('http by list', world('list'));
