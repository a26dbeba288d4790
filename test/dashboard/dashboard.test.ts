// The dashboard in a real Chromium, on the API of a real host with a scripted runner. Where no Chromium is installed, one line says so.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiServer } from '../../operator/api/index.ts';
import { PipelineHost } from '../../operator/host/index.ts';
import { NO_COUNTS, type RunOutcome } from '../../runner/protocol/index.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';
import { pipelineSpec, sourceSpec } from '../support/specs.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { BROWSER, Reader, serveDashboard, TOKEN, turning } from './browser.ts';

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
  made.start();
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
  let reader: Reader;
  let server: ApiServer;
  let world: Awaited<ReturnType<typeof host>>;
  const open = (hash = '', options: { colorScheme?: 'light' | 'dark' } = {}): Promise<Page> =>
    reader.open(server, hash, options);

  beforeAll(async () => {
    world = await host(clock);
    server = await serveDashboard(clock, [world.made]);
    reader = await Reader.start();
  });
  afterAll(async () => {
    await reader?.close();
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
    const rows = page.getByRole('table').first().getByRole('row');
    expect(await rows.filter({ hasText: 'tickets' }).count()).toBeGreaterThan(0);
    await page.close();
  });

  test('it follows: a run that ends moves the cells without a reload', async () => {
    const page = await open();
    await page.locator('.key li', { hasText: 'docs: 1 held' }).waitFor();
    world.runner.uplink.exited(world.runner.runAt('docs'), failed);
    await settle();
    await turning(clock, page.locator('.key li', { hasText: 'docs: 0 held' }).waitFor());
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
    await page.close();
  });

  test('the keyboard reaches everything, and a redraw does not take the focus', async () => {
    const page = await open();
    await page.getByRole('table').first().waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content');
    const link = page.getByRole('link', { name: /^tickets-/ });
    await link.focus();
    world.runner.uplink.exited(world.runner.runAt('repository/file-0.ts'), { kind: 'done', counts: NO_COUNTS });
    await settle();
    const before = await page.locator('.key').textContent();
    await turning(
      clock,
      page.waitForFunction((text) => document.querySelector('.key')?.textContent !== text, before),
    );
    expect(await page.evaluate(() => document.activeElement?.textContent)).toMatch(/^tickets-/);
    await page.close();
  });

  test('an operator that is reached from elsewhere asks for its token first', async () => {
    const guarded = await serveDashboard(clock, [world.made], { access: { isLoopback: false, token: TOKEN } });
    const page = await reader.open(guarded);
    await page.getByLabel('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('heading', { name: 'search/code' }).waitFor();
    await page.locator('#link', { hasText: 'live' }).waitFor();
    await page.close();
    await guarded.close();
    reader.complaints.length = 0; // a browser complains of every answer 401
  });

  test('nothing went wrong in the browser meanwhile', () => {
    expect(reader.complaints).toEqual([]);
  });
});
