// The source `http` on a real web server on the loopback that counts what it is asked.
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Source } from '../../runner/execute/index.ts';
import { type HttpSpec, openSource, type SourceOptions } from '../../runner/sources/index.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { keysOf, listAll, live, rejection, textOf } from './contract.ts';
import { sourceOptions, TempFolder } from './folder.ts';
import { Site } from './site.ts';

let site: Site;
const folder = new TempFolder();
const opened: Source[] = [];
const open = (spec: HttpSpec, options: Partial<SourceOptions> = {}): Source => {
  const source = openSource({ http: spec }, sourceOptions(folder, options));
  opened.push(source);
  return source;
};
const paths = (keys: readonly string[]) => keys.map((key) => key.slice(site.url.length));

beforeEach(async () => {
  site = await Site.start({ '/a': 'a', '/b': 'b', '/c': { body: 'c', validator: 'none' } });
});
afterEach(async () => {
  for (const source of opened.splice(0)) await source.close();
  await site.close();
  folder.remove();
});

it('a second listing costs a 304 for each page that can be asked so, and a changed page has a new version', async () => {
  const source = open({ sitemap: site.sitemap(['/a', '/b']), ignoreRobots: true });
  const before = await listAll(source);
  expect(site.taken()).toEqual(['GET /sitemap.xml 200', 'HEAD /a 200', 'HEAD /b 200']);
  site.pages.set('/b', 'b2');
  const after = await listAll(source);
  expect(site.taken().toSorted()).toEqual(['GET /sitemap.xml 200', 'HEAD /a 304', 'HEAD /b 200']);
  expect(after[0]).toEqual(before[0]);
  expect(after[1]?.version).not.toBe(before[1]?.version);
});

it('a page whose date in the sitemap stayed is not asked for again; one whose date moved is', async () => {
  const source = open({
    sitemap: site.sitemap([
      ['/a', '2026-01-01'],
      ['/b', '2026-01-01'],
    ]),
    ignoreRobots: true,
  });
  const before = await listAll(source);
  site.taken();
  site.sitemap([
    ['/a', '2026-01-01'],
    ['/b', '2026-02-02'],
  ]);
  expect(await listAll(source)).toEqual(before);
  expect(site.taken()).toEqual(['GET /sitemap.xml 200', 'HEAD /b 304']);
});

it('a page without ETag and date, and a server without HEAD, are told apart by content', async () => {
  site.pages.set('/d', { body: 'd', noHead: true });
  const source = open({ list: [`${site.url}/c`, `${site.url}/d`] });
  const before = await listAll(source);
  expect(before.map(({ version }) => version.split(':')[0])).toEqual(['sha256', 'etag']);
  expect(await listAll(source)).toEqual(before);
  site.pages.set('/c', { body: 'c2', validator: 'none' });
  expect((await listAll(source))[0]?.version).not.toBe(before[0]?.version);
});

it('sitemaps may list sitemaps, be compressed, and hold extensions, CDATA and entities', async () => {
  site.sitemap(['/a'], '/one.xml');
  site.pages.set('/two.xml.gz', {
    body: gzipSync(site.pages.get(new URL(site.sitemap(['/b'], '/two.xml')).pathname) as string),
    type: 'application/gzip',
  });
  const odd = `<urlset><url><loc><![CDATA[ ${site.url}/c ]]></loc><image:image><image:loc>http://x.invalid/i.png</image:loc><loc>http://y.invalid/</loc></image:image></url></urlset>`;
  site.pages.set('/three.xml', odd);
  const loc = (path: string) => `<sitemap><loc>${site.url}${path}</loc></sitemap>`;
  site.pages.set(
    '/index.xml',
    `<sitemapindex>${loc('/one.xml')}${loc('/two.xml.gz')}${loc('/three.xml')}</sitemapindex>`,
  );
  expect(paths(await keysOf(open({ sitemap: `${site.url}/index.xml` })))).toEqual(['/a', '/b', '/c']);
});

const broken: Record<string, { body: string; want: string }> = {
  'cut in the middle': { body: '<urlset><url><loc>http://127.0.0.1/a</loc></url><url>', want: 'unclosed tag' },
  empty: { body: '', want: 'document must contain a root element' },
  'an error page with status 200': {
    body: '<html><body>Sorry</body></html>',
    want: 'it is no sitemap: it starts with <html>',
  },
  'a bomb of entities': {
    body: '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>',
    want: 'undefined entity',
  },
  'an index that lists itself': {
    body: '<sitemapindex><sitemap><loc>SELF</loc></sitemap></sitemapindex>',
    want: 'lists sitemaps more than 3 deep',
  },
};
for (const [what, { body, want }] of Object.entries(broken)) {
  it(`a sitemap that is ${what} fails the listing (F1)`, async () => {
    site.pages.set('/sitemap.xml', body.replace('SELF', `${site.url}/sitemap.xml`));
    await expect(listAll(open({ sitemap: `${site.url}/sitemap.xml` }))).rejects.toThrow(want);
  });
}

it('a sitemap that answers 503 or breaks off fails the listing (F1)', async () => {
  const source = open({ sitemap: site.sitemap(['/a']), ignoreRobots: true });
  site.intercept = (_request, response) => {
    response.writeHead(503).end();
    return true;
  };
  await expect(listAll(source)).rejects.toMatchObject({
    class: 'transient',
    message: `the sitemap ${site.url}/sitemap.xml answered 503`,
  });
  site.intercept = (_request, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('<urlset>');
    setImmediate(() => response.destroy());
    return true;
  };
  await expect(listAll(source)).rejects.toMatchObject({ class: 'transient' });
});

it('a page that fails is still listed, and its read fails alone with the class of its status', async () => {
  const source = open({ sitemap: site.sitemap(['/a', '/b']), ignoreRobots: true });
  let status = 500;
  site.intercept = (request, response) => {
    if (request.url !== '/b') return false;
    response.writeHead(status, { 'retry-after': '600' }).end();
    return true;
  };
  expect((await listAll(source)).map(({ version }) => version.split(':')[0])).toEqual(['etag', 'unreadable']);
  const classes: unknown[] = [];
  for (status of [500, 503, 429, 403, 400]) classes.push(await rejection(textOf(source, `${site.url}/b`)));
  expect(classes).toMatchObject([
    { class: 'transient' },
    { class: 'transient', retryAfterMs: 600_000 },
    { class: 'rate-limited', retryAfterMs: 600_000 },
    { class: 'invalid', message: `${site.url}/b answered 403; give http.tokenFrom, or exclude the page` },
    { class: 'invalid' },
  ]);
});

it('a site that fails page after page fails the listing', async () => {
  const many = Array.from({ length: 60 }, (_, at) => `/p${at}`);
  const source = open({ sitemap: site.sitemap(many), ignoreRobots: true });
  site.intercept = (request, response) => {
    if (request.url === '/sitemap.xml') return false;
    response.writeHead(500).end();
    return true;
  };
  await expect(listAll(source)).rejects.toThrow('20 pages in a row could not be looked at');
});

it('Retry-After of a listing is waited for, as seconds and as a date', async () => {
  const clock = new VirtualClock();
  const source = open({ list: [`${site.url}/a`], ignoreRobots: true }, { clock });
  const waits = ['2', new Date(clock.nowMs() + 5_000).toUTCString()];
  site.intercept = (_request, response) => {
    const wait = waits.shift();
    if (wait === undefined) return false;
    response.writeHead(429, { 'retry-after': wait }).end();
    return true;
  };
  const listing = listAll(source);
  const dues: number[] = [];
  for (let at = 0; at < 2; at++) {
    while (clock.pending() === 0) await settle();
    dues.push((clock.nextDueMs() ?? 0) - clock.nowMs());
    clock.step();
  }
  expect((await listing).map(({ version }) => version.split(':')[0])).toEqual(['etag']);
  expect(dues).toEqual([2_000, 3_000]);
});

it('robots.txt is honoured with a note; a site without one allows all; one that cannot be had fails the listing', async () => {
  const spec = { sitemap: site.sitemap(['/a', '/b']) };
  site.pages.set('/robots.txt', 'User-agent: *\nDisallow: /b\n');
  const source = open(spec);
  expect(paths(await keysOf(source))).toEqual(['/a']);
  expect(source.takeNotes?.()).toEqual([`${site.url}/b is left out: robots.txt does not want it visited`]);
  expect(paths(await keysOf(open({ ...spec, ignoreRobots: true })))).toEqual(['/a', '/b']);
  site.pages.delete('/robots.txt');
  expect(paths(await keysOf(open(spec)))).toEqual(['/a', '/b']);
  site.intercept = (request, response) => {
    if (request.url !== '/robots.txt') return false;
    response.writeHead(500).end();
    return true;
  };
  await expect(listAll(open(spec))).rejects.toThrow('robots.txt answered 500; until it answers');
});

it('pages of other hosts in a sitemap are left out with a note and never asked', async () => {
  const other = await Site.start({ '/x': 'x' });
  const source = open({ sitemap: site.sitemap(['/a', `${other.url}/x`]), tokenFrom: { env: 'T' } });
  expect(paths(await keysOf(source))).toEqual(['/a']);
  expect(source.takeNotes?.()).toEqual([
    `${new URL(other.url).host} is another host than the sitemap's; its pages are left out`,
  ]);
  expect(await textOf(source, `${other.url}/x`)).toBeUndefined();
  expect(other.requests).toEqual([]);
  await other.close();
});

it('redirects are followed within the host and refused elsewhere, so that the token does not travel', async () => {
  const other = await Site.start({ '/x': 'x' });
  const targets: Record<string, string> = { '/in': '/a', '/out': `${other.url}/x`, '/round': '/round' };
  site.intercept = (request, response) => {
    const location = targets[request.url ?? ''];
    if (location === undefined) return false;
    response.writeHead(302, { location }).end();
    return true;
  };
  const source = open({ list: Object.keys(targets).map((path) => site.url + path), tokenFrom: { env: 'T' } });
  expect(await textOf(source, `${site.url}/in`)).toBe('a');
  await expect(textOf(source, `${site.url}/out`)).rejects.toThrow('redirects to another host');
  await expect(textOf(source, `${site.url}/round`)).rejects.toThrow('redirects more than 5 times');
  expect(other.requests).toEqual([]);
  await other.close();
});

it('token and headers are sent with each request, and the token is read anew', async () => {
  let token = 'one';
  const source = open(
    { list: [`${site.url}/a`], headers: { 'x-team': 'search' }, tokenFrom: { env: 'T' }, ignoreRobots: true },
    { secret: async () => `${token}\n` },
  );
  await listAll(source);
  token = 'two';
  await textOf(source, `${site.url}/a`);
  expect(site.headers.map((headers) => [headers.authorization, headers['x-team']])).toEqual([
    ['Bearer one', 'search'],
    ['Bearer two', 'search'],
  ]);
});

it('never more requests at once than concurrency allows', async () => {
  let now = 0;
  let peak = 0;
  site.intercept = (_request, response) => {
    peak = Math.max(peak, ++now);
    response.once('finish', () => now--);
    setImmediate(() => response.writeHead(200, { etag: '"x"' }).end());
    return true;
  };
  const list = Array.from({ length: 40 }, (_, at) => `${site.url}/p${at}`);
  expect((await listAll(open({ list, ignoreRobots: true, concurrency: 3 }))).length).toBe(40);
  expect(peak).toBeLessThanOrEqual(3);
});

it('globs match the whole address or its path', async () => {
  const list = ['/docs/a', '/docs/deep/b?v=1', '/blog/c'].map((path) => site.url + path);
  for (const path of ['/docs/a', '/docs/deep/b?v=1', '/blog/c']) site.pages.set(path, 'x');
  expect(paths(await keysOf(open({ list, include: ['docs/**'] })))).toEqual(['/docs/a', '/docs/deep/b?v=1']);
  expect(paths(await keysOf(open({ list, include: [`${site.url}/docs/*`] })))).toEqual(['/docs/a']);
  expect(paths(await keysOf(open({ list, exclude: ['/docs/deep/**'] })))).toEqual(['/docs/a', '/blog/c']);
});

it('one page under several spellings of its address is one item', async () => {
  const host = site.url.replace('http', 'HTTP');
  expect(
    paths(await keysOf(open({ list: [`${site.url}/a`, `${site.url}/a#part`, `${host}/a`, `${site.url}/x/../a`] }))),
  ).toEqual(['/a']);
});

it('a page longer than it says, or than the bound, is refused without being read whole', async () => {
  site.pages.set('/big', 'x'.repeat(5_000_000));
  const source = open({ list: [`${site.url}/big`] });
  await expect(source.read(`${site.url}/big`, '', { signal: live(), maxBytes: 1_000 })).rejects.toMatchObject({
    class: 'too-large',
  });
});

it('a cancelled listing ends at once though the server says nothing', async () => {
  const asked = new Promise<void>((resolve) => {
    site.intercept = () => {
      resolve();
      return true;
    };
  });
  const stop = new AbortController();
  const listing = rejection(listAll(open({ list: [`${site.url}/a`] }), stop.signal));
  await asked;
  stop.abort(new Error('enough'));
  expect(await listing).toMatchObject({ message: 'enough' });
});
