// The dashboard in a real Chromium, on the API of a real host with a scripted runner. Where no Chromium is installed, one line says so.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whatIf } from '../../cli/remote/what-if.ts';
import { type Api, type ApiServer, createApi, serveApi } from '../../operator/api/index.ts';
import { dashboardAssets } from '../../operator/dashboard/index.ts';
import { PipelineHost } from '../../operator/host/index.ts';
import { NO_COUNTS, type RunOutcome } from '../../runner/protocol/index.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';
import { pipelineSpec, sourceSpec } from '../support/specs.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

const BROWSER = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);
if (BROWSER === undefined)
  process.stdout.write('left out: the dashboard in a browser, since no Chromium is installed\n');

/** Where screenshots go, for people to look at. */
const SHOTS = process.env.FAIRLEAD_SCREENSHOTS;
const TOKEN = 'the-token-of-this-operator';

const EVIL = '<img src=x onerror="document.title=1">';
const failed: RunOutcome = {
  kind: 'failed',
  counts: { ...NO_COUNTS, failed: 1 },
  error: { class: 'invalid', message: `the far side said ${EVIL}`, step: 'embed' },
};

/** Three sources on a pool of 8: one executes in many runs, one in one, one waits. */
async function host(clock: VirtualClock) {
  const made = new PipelineHost({
    name: 'search/code',
    clock,
    epoch: 1,
    specs: {
      generation: 1,
      pipeline: pipelineSpec(),
      slotsMax: 8,
      sources: new Map(['docs', 'repository', 'tickets'].map((name) => [name, sourceSpec()])),
    },
  });
  const runner = new ScriptedRunner();
  runner.uplink = made.addRunner({ name: 'pod-0/1', runnerClass: 'default', slots: 8, runner }).uplink;
  await settle();
  const root = runner.runAt('repository');
  for (let mount = 0; mount < 40; mount++)
    runner.uplink.mount(root, { mount, path: `repository/file-${mount}.ts`, kind: 'item', source: 'repository' });
  await settle();
  return { made, runner };
}

describe.skipIf(BROWSER === undefined)('the dashboard', () => {
  const clock = new VirtualClock();
  let browser: Browser;
  let api: Api;
  let server: ApiServer;
  let world: Awaited<ReturnType<typeof host>>;
  const open = async (hash = '', options: { colorScheme?: 'light' | 'dark' } = {}): Promise<Page> => {
    const page = await browser.newPage({ viewport: { width: 1180, height: 900 }, ...options });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    await page.goto(`http://127.0.0.1:${server.port}/${hash}`);
    return page;
  };
  const complaints: string[] = [];
  const shot = async (page: Page, name: string) => {
    if (SHOTS === undefined) return;
    mkdirSync(SHOTS, { recursive: true });
    await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
  };

  beforeAll(async () => {
    world = await host(clock);
    api = createApi({
      clock,
      hosts: () => new Map([[world.made.name, world.made]]),
      access: { isLoopback: true, token: TOKEN },
      about: 'fairlead test',
      simulate: whatIf,
      assets: dashboardAssets(),
    });
    server = await serveApi(api, '127.0.0.1', 0);
    browser = await chromium.launch({ executablePath: BROWSER!, args: ['--no-sandbox'] });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  test('the pool shows every slot, who holds it and who waits, in text too', async () => {
    const page = await open();
    await page.getByRole('heading', { name: 'search/code' }).waitFor();
    expect(await page.locator('.pool .cell').count()).toBe(8);
    const label = await page.locator('.pool').getAttribute('aria-label');
    expect(label).toMatch(/docs holds 1, repository holds \d, tickets holds 1; 0 free/);
    expect(await page.locator('.key li').allTextContents()).toEqual(
      expect.arrayContaining([expect.stringMatching(/^repository: \d held, 3\d waiting$/)]),
    );
    const rows = page.getByRole('table').getByRole('row');
    expect(await rows.filter({ hasText: 'tickets' }).count()).toBeGreaterThan(0);
    await shot(page, 'pool-light');
    await page.close();
  });

  test('it follows: a run that ends moves the cells without a reload', async () => {
    const page = await open();
    await page.locator('.key li', { hasText: 'docs: 1 held' }).waitFor();
    world.runner.uplink.exited(world.runner.runAt('docs'), failed);
    await settle();
    const gone = page.locator('.key li', { hasText: 'docs: 0 held' }).waitFor();
    const turns = setInterval(() => clock.advance(1_000), 20); // the stream's clock
    await gone;
    clearInterval(turns);
    await page.close();
  });

  test('failures are told with their message, as text and never as markup', async () => {
    const page = await open('#/failures');
    await page.getByText(EVIL).waitFor();
    expect(await page.title()).toBe('Failures · Fairlead');
    await page.close();
  });

  test('an update is a page of its own, with why it waits', async () => {
    const page = await open('#/updates');
    await page.getByRole('link', { name: /^tickets-/ }).click();
    await page.getByRole('heading', { name: /^Update tickets-/ }).waitFor();
    await page.getByText(/it executes on pod-0/).waitFor();
    await shot(page, 'update');
    await page.close();
  });

  test('what if: six rules, and a slider changes the figures', async () => {
    const page = await open('#/what-if', { colorScheme: 'dark' });
    await page.getByRole('cell', { name: 'fewest held first' }).waitFor();
    const row = page.getByRole('row').filter({ hasText: 'fewest held first' });
    expect(await page.getByRole('row').count()).toBe(7);
    expect(await row.getByRole('cell').nth(3).textContent()).toBe('48'); // the table of docs/fairness.md
    await page.waitForFunction(() => (document.querySelector<HTMLImageElement>('img.picture')?.naturalWidth ?? 0) > 0);
    await page.getByLabel('Tasks of the refresh', { exact: true }).fill('200');
    await page.waitForFunction(() => !document.querySelector('#what-if')?.textContent?.includes('105 ms'));
    expect(await row.getByRole('cell').nth(3).textContent()).not.toBe('48');
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
    await shot(page, 'what-if-dark');
    await page.close();
  });

  test('the keyboard reaches everything, and a redraw does not take the focus', async () => {
    const page = await open();
    await page.getByRole('table').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content');
    const link = page.getByRole('link', { name: /^tickets-/ });
    await link.focus();
    world.runner.uplink.exited(world.runner.runAt('repository/file-0.ts'), { kind: 'done', counts: NO_COUNTS });
    await settle();
    const before = await page.locator('.key').textContent();
    const turns = setInterval(() => clock.advance(1_000), 20);
    await page.waitForFunction((text) => document.querySelector('.key')?.textContent !== text, before);
    clearInterval(turns);
    expect(await page.evaluate(() => document.activeElement?.textContent)).toMatch(/^tickets-/);
    await page.close();
  });

  test('both themes have enough contrast for text', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await open('', { colorScheme });
      await page.getByRole('table').waitFor();
      const ratios = await page.evaluate(contrasts);
      for (const { text, ratio } of ratios) expect(ratio, text).toBeGreaterThanOrEqual(4.5); // WCAG 2.2, 1.4.3
      if (colorScheme === 'dark') await shot(page, 'pool-dark');
      await page.close();
    }
  });

  test('an operator that is reached from elsewhere asks for its token first', async () => {
    const guarded = await serveApi(
      createApi({
        clock,
        hosts: () => new Map([[world.made.name, world.made]]),
        access: { isLoopback: false, token: TOKEN },
        about: 'fairlead test',
        assets: dashboardAssets(),
      }),
      '127.0.0.1',
      0,
    );
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${guarded.port}/`);
    await page.getByLabel('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('heading', { name: 'search/code' }).waitFor();
    await page.locator('#link', { hasText: 'live' }).waitFor();
    await page.close();
    await guarded.close();
  });

  test('nothing went wrong in the browser meanwhile', () => {
    expect(complaints).toEqual([]);
  });
});

/** Runs in the page: contrast of every kind of text against the ground below it. */
function contrasts(): { text: string; ratio: number }[] {
  const channels = (colour: string) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (colour: number[]) => {
    const [r, g, b] = colour.map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  };
  const groundOf = (element: Element): number[] => {
    for (let at: Element | null = element; at !== null; at = at.parentElement) {
      const found = channels(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || (found[3] ?? 0) > 0) return found;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll('h1, h2, p, td, th, dt, dd, nav a, caption, button, .key li')]
    .filter(({ textContent }) => textContent !== '')
    .map((element) => {
      const over = luminance(channels(getComputedStyle(element).color));
      const under = luminance(groundOf(element));
      const ratio = (Math.max(over, under) + 0.05) / (Math.min(over, under) + 0.05);
      return { text: `${element.tagName} ${element.textContent}`, ratio };
    });
}
