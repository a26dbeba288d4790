// The source `http`: pages of a web site, by sitemap or by list. The key is the page's address.
//   S1. Only pages of the sitemap's own host are items, so that a sitemap cannot send the runner, or its token, elsewhere.
//   S2. A sitemap or robots.txt that cannot be read whole fails the listing (F1); a page that cannot fails alone, unless nearly all do.
import type { Clock } from '../../clock.ts';
import type { ItemContent, ListedItem, ListOptions, ReadOptions, Source } from '../../execute/index.ts';
import { StepError } from '../../sdk/index.ts';
import { Gate } from '../common/gate.ts';
import { NoteBook } from '../common/notes.ts';
import type { AddressFilter } from './filter.ts';
import { Pages, UNREADABLE_VERSION } from './pages.ts';
import { type Robots, robotsOf } from './robots.ts';
import { type SitemapEntry, sitemapEntries } from './sitemap.ts';
import type { Web } from './web.ts';

/** Small, because each item of a first listing is a request. */
const BATCH_MAX = 100;
/** So many pages in a row that cannot be looked at mean that the site cannot. */
const FAILURES_MAX = 20;
const PAGES_MAX = 1_000_000;

export interface HttpSourceOptions {
  readonly web: Web;
  readonly sitemap: string | undefined;
  readonly list: readonly string[];
  readonly filter: AddressFilter;
  readonly ignoreRobots: boolean;
  readonly concurrency: number;
  readonly clock: Clock;
}

export class HttpSource implements Source {
  readonly #options: HttpSourceOptions;
  readonly #pages: Pages;
  readonly #gate: Gate;
  readonly #notes = new NoteBook();
  readonly #listed: ReadonlySet<string>;
  #failuresInRow = 0;

  constructor(options: HttpSourceOptions) {
    this.#options = options;
    this.#pages = new Pages(options.web, options.clock);
    this.#gate = new Gate(options.concurrency);
    this.#listed = new Set(options.list.map((url) => addressOf(url) ?? url));
  }

  async *list({ signal }: ListOptions): AsyncGenerator<readonly ListedItem[]> {
    signal.throwIfAborted();
    this.#failuresInRow = 0;
    const seen = new Set<string>();
    let entries: SitemapEntry[] = [];
    for await (const entry of this.#entries(seen, signal)) {
      entries.push(entry);
      if (entries.length < BATCH_MAX) continue;
      yield await this.#items(entries, signal);
      entries = [];
      signal.throwIfAborted();
    }
    if (entries.length > 0) yield await this.#items(entries, signal);
    signal.throwIfAborted();
    this.#pages.keepOnly(seen);
  }

  async stat(key: string, signal: AbortSignal): Promise<ListedItem | undefined> {
    signal.throwIfAborted();
    if (!this.#isMine(key)) return undefined;
    const look = await this.#gate.run(signal, () => this.#pages.look({ url: key }, signal));
    return look.kind === 'gone'
      ? undefined
      : { key, version: look.kind === 'there' ? look.version : UNREADABLE_VERSION };
  }

  async read(key: string, _version: string, options: ReadOptions): Promise<ItemContent | undefined> {
    options.signal.throwIfAborted();
    if (!this.#isMine(key)) return undefined;
    return await this.#gate.run(options.signal, () => this.#pages.read(key, options));
  }

  takeNotes(): readonly string[] {
    return this.#notes.take();
  }

  async close(): Promise<void> {
    await this.#options.web.close();
  }

  /** Pages to look at, each once. */
  async *#entries(seen: Set<string>, signal: AbortSignal): AsyncGenerator<SitemapEntry> {
    const robots = new Map<string, Robots>();
    for await (const entry of this.#named(signal)) {
      const url = addressOf(entry.url);
      if (url === undefined || seen.has(url)) continue;
      if (!this.#isMine(url)) {
        if (this.#isElsewhere(url))
          this.#notes.add(`${new URL(url).host} is another host than the sitemap's; its pages are left out`);
        continue;
      }
      if (!(await this.#mayVisit(url, robots, signal))) {
        this.#notes.add(`${url} is left out: robots.txt does not want it visited`);
        continue;
      }
      if (seen.size >= PAGES_MAX)
        throw new StepError(
          'invalid',
          `the sitemap names more than ${PAGES_MAX} pages; use include, or several sources`,
        );
      seen.add(url);
      yield { ...entry, url };
    }
  }

  async *#named(signal: AbortSignal): AsyncGenerator<SitemapEntry> {
    for (const url of this.#listed) yield { url };
    if (this.#options.sitemap !== undefined) yield* sitemapEntries(this.#options.web, this.#options.sitemap, signal);
  }

  async #mayVisit(url: string, robots: Map<string, Robots>, signal: AbortSignal): Promise<boolean> {
    if (this.#options.ignoreRobots) return true;
    const { origin } = new URL(url);
    const rules = robots.get(origin) ?? (await robotsOf(this.#options.web, origin, signal));
    robots.set(origin, rules);
    return rules.allows(url);
  }

  async #items(entries: readonly SitemapEntry[], signal: AbortSignal): Promise<ListedItem[]> {
    const items = await Promise.all(entries.map((entry) => this.#gate.run(signal, () => this.#item(entry, signal))));
    return items.filter((item) => item !== undefined);
  }

  async #item(entry: SitemapEntry, signal: AbortSignal): Promise<ListedItem | undefined> {
    const look = await this.#pages.look(entry, signal);
    this.#failuresInRow = look.kind === 'unreadable' ? this.#failuresInRow + 1 : 0;
    if (this.#failuresInRow >= FAILURES_MAX)
      throw new StepError(
        'transient',
        `${FAILURES_MAX} pages in a row could not be looked at, the last of them ${entry.url}; nothing is deleted meanwhile`,
      );
    if (look.kind === 'gone') return undefined;
    return { key: entry.url, version: look.kind === 'there' ? look.version : UNREADABLE_VERSION };
  }

  #isMine(url: string): boolean {
    if (addressOf(url) !== url || !this.#options.filter(url)) return false;
    return this.#listed.has(url) || (this.#options.sitemap !== undefined && !this.#isElsewhere(url));
  }

  #isElsewhere(url: string): boolean {
    const { sitemap } = this.#options;
    if (sitemap === undefined) return false;
    const [home, page] = [new URL(sitemap), new URL(url)];
    return home.hostname !== page.hostname || home.port !== page.port;
  }
}

/** One form of each address: without fragment, without user and password; undefined for what is no address of a page. */
function addressOf(text: string): string | undefined {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  url.hash = '';
  url.username = '';
  url.password = '';
  return url.href;
}
