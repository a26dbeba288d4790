// Whoever starts at the README reaches every page, and a link into a page leads to a heading that is there.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md')];

interface Link {
  readonly from: string;
  readonly to: string;
  readonly heading: string | undefined;
}

/** Markdown without code, where brackets are no links. */
const prose = (file: string): string =>
  readFileSync(file, 'utf8')
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/`[^`\n]*`/g, '');

function linksOf(from: string): Link[] {
  const found = prose(from).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g);
  return [...found].map(([, path = '', heading]) => ({
    from,
    to: path === '' ? from : normalize(join(dirname(from), path)),
    heading,
  }));
}

/** Anchors as GitHub makes them. */
const anchorsOf = (file: string): ReadonlySet<string> =>
  new Set(
    [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );

const links = pages.flatMap(linksOf);

test('every page is reached from the README', () => {
  const reached = new Set(['README.md']);
  for (const page of reached)
    for (const { to } of links.filter(({ from }) => from === page)) {
      // A link to a folder shows what is in it.
      const isFolder = existsSync(to) && statSync(to).isDirectory();
      for (const file of isFolder ? globSync(`${to}/*.md`) : [to]) if (file.endsWith('.md')) reached.add(file);
    }
  expect(pages.filter((page) => !reached.has(page))).toEqual([]);
});

test('a link into a page leads to a heading of it', () => {
  const wrong = links.filter(({ to, heading }) => heading !== undefined && !anchorsOf(to).has(heading));
  expect(wrong).toEqual([]);
});

test('the runbook address of each alert is a heading of the page about alerts', () => {
  const rules = readFileSync('charts/fairlead/files/alerts.json', 'utf8');
  const headings = [...rules.matchAll(/"runbook_url": "[^"]*\/docs\/how-to\/alerts\.md#([^"]+)"/g)].map(
    ([, one]) => one!,
  );
  expect(headings.length).toBeGreaterThan(5);
  expect(headings.filter((heading) => !anchorsOf('docs/how-to/alerts.md').has(heading))).toEqual([]);
});
