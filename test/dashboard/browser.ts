// What tests of the dashboard share: a real Chromium, the API of real hosts behind the page, what went wrong in the browser, screenshots.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { whatIf } from '../../cli/remote/what-if.ts';
import { type Access, type ApiOptions, type ApiServer, createApi, serveApi } from '../../operator/api/index.ts';
import { dashboardAssets } from '../../operator/dashboard/index.ts';
import type { PipelineHost } from '../../operator/host/index.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';

/** Where a Chromium lies; undefined: there is none here, and one line has said so. */
export const BROWSER = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);
if (BROWSER === undefined)
  process.stdout.write('left out: the dashboard in a browser, since no Chromium is installed\n');

/** Where screenshots go, for people to look at. */
const SHOTS = process.env.FAIRLEAD_SCREENSHOTS;
export const TOKEN = 'the-token-of-this-operator';

/** Serves the page and its data. `port`: 0, or one that was had before. */
export function serveDashboard(
  clock: VirtualClock,
  hosts: readonly PipelineHost[],
  options: Partial<Pick<ApiOptions, 'trace'>> & { readonly access?: Access; readonly port?: number } = {},
): Promise<ApiServer> {
  const { access = { isLoopback: true, token: TOKEN }, port = 0, trace } = options;
  const api = createApi({
    clock,
    hosts: () => new Map(hosts.map((host) => [host.name, host])),
    access,
    about: 'fairlead test',
    simulate: whatIf,
    assets: dashboardAssets(),
    ...(trace !== undefined && { trace }),
  });
  return serveApi(api, '127.0.0.1', port);
}

export class Reader {
  /** Errors of pages and of their consoles. */
  readonly complaints: string[] = [];
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async start(): Promise<Reader> {
    return new Reader(await chromium.launch({ executablePath: BROWSER!, args: ['--no-sandbox'] }));
  }

  /** Opens a page of the dashboard, such as `#/updates`. */
  async open({ port }: ApiServer, hash = '', options: BrowserContextOptions = {}): Promise<Page> {
    const page = await this.#browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (message) => message.type() === 'error' && this.complaints.push(message.text()));
    await page.goto(`http://127.0.0.1:${port}/${hash}`);
    return page;
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}

export async function shot(page: Page, name: string): Promise<void> {
  if (SHOTS === undefined) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
}

/** Lets the stream's clock turn until `seen` resolves. */
export async function turning(clock: VirtualClock, seen: Promise<unknown>): Promise<void> {
  const turns = setInterval(() => clock.advance(1_000), 20);
  await seen.finally(() => clearInterval(turns));
}

/** Runs in the page: contrast of every kind of text against the ground below it. */
export function contrasts(): { text: string; ratio: number }[] {
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
  const own = (element: Element) =>
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim() !== '');
  return [...document.querySelectorAll('body *:not(script)')].filter(own).map((element) => {
    const over = luminance(channels(getComputedStyle(element).color));
    const under = luminance(groundOf(element));
    const ratio = (Math.max(over, under) + 0.05) / (Math.min(over, under) + 0.05);
    return { text: `${element.tagName}.${element.className} ${element.textContent}`, ratio };
  });
}

/** Runs in the page: what somebody with a screen reader would miss. */
export function unnamed(): string[] {
  const problems: string[] = [];
  const nameOf = (element: Element) =>
    element.getAttribute('aria-label') ?? element.getAttribute('alt') ?? element.textContent?.trim() ?? '';
  for (const element of document.querySelectorAll('a, button, summary, [role="img"], [role="region"], section h1'))
    if (nameOf(element) === '') problems.push(`${element.tagName} without a name`);
  for (const image of document.querySelectorAll('img'))
    if (!image.hasAttribute('alt')) problems.push(`an image without alt: ${image.src.slice(0, 40)}`);
  for (const input of document.querySelectorAll('input'))
    if ((input.labels?.length ?? 0) === 0) problems.push(`${input.id} without a label`);
  for (const table of document.querySelectorAll('table'))
    if (table.caption === null) problems.push('a table without a caption');
  const levels = [...document.querySelectorAll('h1, h2, h3, h4')].map(({ tagName }) => Number(tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) problems.push(`headings of the first level: ${levels}`);
  for (const [at, level] of levels.entries())
    if (at > 0 && level > levels[at - 1]! + 1) problems.push(`a heading skips a level: ${levels}`);
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  if (new Set(ids).size !== ids.length) problems.push(`an id twice: ${ids}`);
  return problems;
}
