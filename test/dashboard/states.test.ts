// The dashboard in what it has to bear: an update with a whole trace, a hundred sources, cards, nothing at all, an operator that goes away, a narrow
// screen, a reader without a mouse or without eyes. A real Chromium on the API of real hosts.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiServer } from '../../operator/api/index.ts';
import { PipelineHost } from '../../operator/host/index.ts';
import { Telemetry } from '../../operator/telemetry/index.ts';
import { NO_COUNTS, type RunOutcome, type RunTrace } from '../../runner/protocol/index.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';
import { pipelineSpec, sourceSpec } from '../support/specs.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { BROWSER, contrasts, Reader, serveDashboard, shot, turning, unnamed } from './browser.ts';

const done = (part: Partial<typeof NO_COUNTS> = {}): RunOutcome => ({
  kind: 'done',
  counts: { ...NO_COUNTS, ...part },
});
const refused: RunOutcome = {
  kind: 'failed',
  counts: { ...NO_COUNTS, failed: 1 },
  error: { class: 'invalid', message: '127.0.0.1:8080 answered 400: the input is empty', step: 'embed' },
};

/** What a runner tells of one item: it was read, cut, embedded by a call on half a card, and committed. */
const TOLD: RunTrace = {
  startedAtMs: 0,
  durationMs: 80,
  spans: [
    { kind: 'step', name: 'read', startMs: 0, durationMs: 4 },
    { kind: 'read', name: 'content', startMs: 1, durationMs: 3, in: 0 },
    { kind: 'step', name: 'split', startMs: 4, durationMs: 6, count: 3 },
    { kind: 'step', name: 'embed', startMs: 10, durationMs: 62, count: 3 },
    { kind: 'card', name: 'wait', startMs: 11, durationMs: 9, in: 3, count: 500 },
    { kind: 'call', name: '127.0.0.1:8080', startMs: 21, durationMs: 50, in: 3, count: 32 },
    { kind: 'commit', name: 'commit', startMs: 72, durationMs: 8, count: 1 },
  ],
};

interface World {
  readonly host: PipelineHost;
  readonly runner: ScriptedRunner;
  readonly telemetry: Telemetry;
}

async function world(clock: VirtualClock, name: string, sources: readonly string[], slots: number): Promise<World> {
  const telemetry = new Telemetry({ clock });
  const host = new PipelineHost({
    name,
    clock,
    epoch: 1,
    follower: telemetry.follow(name),
    specs: {
      generation: 1,
      pipeline: pipelineSpec(),
      slotsMax: slots,
      sources: new Map(sources.map((source, at) => [source, sourceSpec(at === 1 ? { weight: 2 } : {})])),
    },
  });
  host.start();
  const runner = new ScriptedRunner();
  runner.uplink = host.addRunner({
    name: 'pod-0/1',
    runnerClass: 'default',
    slots: Math.max(64, slots),
    cards: 2,
    runner,
  }).uplink;
  await settle();
  return { host, runner, telemetry };
}

/** A cycle of `docs` that ended: one item told in full, one refused; a re-index that goes on, and holds cards. */
async function busyWorld(clock: VirtualClock): Promise<World> {
  const made = await world(clock, 'search/library', ['repository', 'docs', 'tickets', 'wiki'], 12);
  const { runner } = made;
  const mount = (source: string, count: number) => {
    for (let at = 0; at < count; at++) {
      const key = `${source}/chapter-${at}.md`;
      const path = `${source}/${key}`;
      runner.uplink.mount(runner.runAt(source), { mount: at, path, kind: 'item', source, key });
    }
  };
  mount('docs', 2);
  await settle();
  clock.advance(90);
  runner.uplink.exited(runner.runAt('docs/docs/chapter-0.md'), done({ added: 1 }), TOLD);
  runner.uplink.exited(runner.runAt('docs/docs/chapter-1.md'), refused);
  await settle();
  runner.exit('docs', done({ added: 1, failed: 1 }));
  runner.exit('wiki', {
    kind: 'failed',
    counts: NO_COUNTS,
    error: { class: 'transient', message: 'wiki.example.org does not answer: connect ETIMEDOUT', step: 'list' },
  });
  mount('repository', 400);
  mount('tickets', 3);
  await settle();
  for (const ask of [1, 2, 3]) runner.uplink.askCard(runner.runAt('repository'), ask, ask === 3 ? 250 : 500);
  await settle();
  clock.advance(2_500);
  return made;
}

describe.skipIf(BROWSER === undefined)('the dashboard', () => {
  const clock = new VirtualClock();
  const servers: ApiServer[] = [];
  const worlds: World[] = [];
  let reader: Reader;
  let busy: ApiServer;
  let busyHost: World;
  const serve = async (made: readonly World[], port = 0): Promise<ApiServer> => {
    worlds.push(...made);
    const trace = (pipeline: string, update: string) =>
      made.find(({ host }) => host.name === pipeline)?.telemetry.traces.get(pipeline, update);
    const hosts = made.map(({ host }) => host);
    const server = await serveDashboard(clock, hosts, { trace, port });
    servers.push(server);
    return server;
  };

  beforeAll(async () => {
    reader = await Reader.start();
    busyHost = await busyWorld(clock);
    busy = await serve([busyHost]);
  });
  afterAll(async () => {
    await reader?.close();
    for (const server of servers) await server.close();
    for (const { telemetry } of worlds) telemetry.close();
  });

  test('tiles, cells, tree and cards say at a glance who holds what and what is wrong', async () => {
    const page = await reader.open(busy);
    const tile = (name: string) => page.locator('.tile', { hasText: name });
    await tile('Slots held').getByText('12').waitFor();
    expect(await tile('Slots held').textContent()).toContain('12 of 12');
    expect(await tile('Runs waiting').textContent()).toMatch(/39\d/);
    expect(await tile('Cards held').textContent()).toContain('1.25 of 2');
    expect(await tile('Stalest source').textContent()).toMatch(/\d+(\.\d)? s/);
    await page.getByText('wiki.example.org does not answer').waitFor();
    expect(await page.locator('.card-cell').count()).toBe(2);
    await shot(page, 'pool-busy-light');
    await page.close();
  });

  test('an update shows where its time went; a span opens to what it tells, and stays open while all is drawn anew', async () => {
    const page = await reader.open(busy, '#/updates');
    await shot(page, 'updates');
    await page.getByRole('link', { name: /^docs-/ }).click();
    const call = page.locator('summary', { hasText: 'call 127.0.0.1:8080' });
    await call.waitFor();
    expect(await page.locator('.bars li').count()).toBeGreaterThan(9);
    await call.click();
    await page.locator('details[open]').getByText('batch size').waitFor();
    await page.getByText('answered 400: the input is empty').first().waitFor({ state: 'attached' });
    await shot(page, 'update-light');
    const running = page.getByRole('link', { name: 'Updates' }).first();
    await running.click();
    await page.getByRole('link', { name: /^repository-/ }).click();
    const root = page.locator('summary', { hasText: 'update cycle' });
    await root.click();
    const before = await page.locator('.facts').first().textContent();
    await turning(
      clock,
      page.waitForFunction((text) => document.querySelector('.facts')?.textContent !== text, before),
    );
    await page.locator('details[open]', { hasText: 'update cycle' }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('SUMMARY');
    await page.close();
  });

  test('a hundred and twenty sources are read at a glance: the busiest are named, the rest is counted', async () => {
    const names = Array.from({ length: 120 }, (_, at) => `team-${String(at).padStart(3, '0')}`);
    const many = await world(clock, 'search/many', names, 200);
    for (const name of names.slice(0, 70)) many.runner.exit(name, done({ unchanged: 5 }));
    await settle();
    const page = await reader.open(await serve([many]));
    await page.getByText('and 60 more sources, none of them busier than these').waitFor();
    const rows = await page.locator('tr.source td:first-child').allTextContents();
    expect(rows.filter((name) => Number(name.slice(-3)) >= 70)).toHaveLength(50);
    expect(await page.locator('.key li').count()).toBeLessThanOrEqual(14);
    await shot(page, 'pool-many');
    await page.close();
  });

  test('where nothing is served, it says what to do', async () => {
    const page = await reader.open(await serve([]));
    await page.getByText('No Pipeline is served here yet.').waitFor();
    await page.getByText('kubectl apply').waitFor();
    await shot(page, 'empty');
    for (const [hash, words] of [
      ['#/updates', 'No update has done anything yet.'],
      ['#/failures', 'Nothing failed lately.'],
    ] as const) {
      await page.evaluate((to) => {
        location.hash = to;
      }, hash);
      await page.getByText(words).waitFor();
    }
    await page.close();
  });

  test('an operator that goes away is told, its last picture stays, and it is live again by itself', async () => {
    const first = await serve([busyHost]);
    const page = await reader.open(first);
    await page.locator('#link', { hasText: 'live' }).waitFor();
    await first.close();
    await page.getByText('The operator has not answered for').waitFor();
    expect(await page.locator('#link').textContent()).toBe('no connection');
    expect(await page.locator('.pool .cell').count()).toBe(12);
    await shot(page, 'disconnected');
    await serve([busyHost], first.port);
    await page.locator('#link', { hasText: 'live' }).waitFor();
    expect(await page.locator('#banner').isVisible()).toBe(false);
    await page.close();
    reader.complaints.length = 0; // a browser complains of every connection that is refused
  });

  const PAGES: readonly (readonly [string, string])[] = [
    ['', 'Pool'],
    ['#/updates', 'Updates'],
    ['#/failures', 'Failures'],
    ['#/what-if', 'What if'],
  ];
  const eachPage = async (
    options: Parameters<Reader['open']>[2],
    look: (page: Page, hash: string) => Promise<void>,
  ) => {
    const page = await reader.open(busy, '', options);
    const [update] = await busyHost.host.records('docs')!.updates(clock.nowMs());
    const own = [`#/updates/search%2Flibrary/${update!.name}`, `Update ${update!.name}`] as const;
    for (const [hash, title] of [...PAGES, own]) {
      await page.goto(`http://127.0.0.1:${busy.port}/${hash}`);
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
      if (hash === '#/what-if') await page.locator('.stage img').first().waitFor();
      await look(page, hash);
    }
    await page.close();
  };

  test('on the screen of a phone tables scroll, and the page does not', async () => {
    await eachPage({ viewport: { width: 390, height: 844 } }, async (page, hash) => {
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width, hash).toBeLessThanOrEqual(390);
      await shot(page, `narrow${hash.replaceAll(/[#/%]+/g, '-')}`);
    });
  });

  test('everything has a name for a screen reader, and headings are in order', async () => {
    await eachPage({}, async (page, hash) => {
      expect(await page.evaluate(unnamed), hash).toEqual([]);
    });
  });

  test('text has enough contrast on every page and in both themes', async () => {
    for (const colorScheme of ['light', 'dark'] as const)
      await eachPage({ colorScheme, reducedMotion: 'reduce' }, async (page, hash) => {
        const ratios = await page.evaluate(contrasts);
        expect(ratios.length).toBeGreaterThan(10);
        for (const { text, ratio } of ratios)
          expect(ratio, `${colorScheme} ${hash} ${text}`).toBeGreaterThanOrEqual(4.5); // WCAG 2.2, 1.4.3
        await shot(page, `${colorScheme}${hash.replaceAll(/[#/%]+/g, '-')}`);
      });
  });

  test('what-if is played with the keyboard alone, and holds still for who wants that', async () => {
    const page = await reader.open(busy, '#/what-if', { reducedMotion: 'reduce' });
    const moment = page.getByLabel('Moment');
    await moment.waitFor();
    await moment.focus();
    await page.keyboard.press('Home');
    expect(await page.locator('.curtain').first().isVisible()).toBe(true);
    expect(await moment.getAttribute('aria-valuetext')).toBe('0 ms');
    await page.keyboard.press('PageUp');
    await shot(page, 'what-if-played');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('#moment')?.value === '1000');
    expect(await page.locator('.curtain').first().isVisible()).toBe(false);
    await page.close();
  });

  test('nothing went wrong in the browser meanwhile', () => {
    expect(reader.complaints).toEqual([]);
  });
});
