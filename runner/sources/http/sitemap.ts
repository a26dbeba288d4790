// Reads sitemaps: lists of pages, and lists of such lists, as streams. Strict: what is no whole sitemap is an error, since a cut or
// empty answer must not read as a short list (F1).
import { createGunzip } from 'node:zlib';
import { SaxesParser } from 'saxes';
import { StepError } from '../../sdk/index.ts';
import { messageOf } from '../common/failure.ts';
import type { Reply, Web } from './web.ts';

export interface SitemapEntry {
  readonly url: string;
  /** What the sitemap says of the page's last change, as it stands there. */
  readonly lastmod?: string;
}

/** The protocol allows 50 MB; a list that is larger is no mistake of a byte or two. */
const SIZE_MAX = 100 << 20;
const DEPTH_MAX = 3;

/** Pages of a sitemap and of those that it lists. Throws StepError, or the signal's reason. */
export async function* sitemapEntries(
  web: Web,
  url: string,
  signal: AbortSignal,
  depth = 1,
): AsyncGenerator<SitemapEntry> {
  const reply = await web.ask('GET', url, {}, signal);
  if (reply.status !== 200) {
    reply.body.destroy();
    throw new StepError('transient', `the sitemap ${url} answered ${reply.status}`);
  }
  for await (const { kind, entry } of parsed(reply, url, signal)) {
    if (kind === 'page') yield entry;
    else if (depth >= DEPTH_MAX)
      throw new StepError('invalid', `the sitemap ${url} lists sitemaps more than ${DEPTH_MAX} deep`);
    else yield* sitemapEntries(web, entry.url, signal, depth + 1);
  }
}

interface Found {
  readonly kind: 'page' | 'sitemap';
  readonly entry: SitemapEntry;
}

async function* parsed(reply: Reply, url: string, signal: AbortSignal): AsyncGenerator<Found> {
  const reader = new SitemapReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let size = 0;
  try {
    for await (const part of unpacked(reply)) {
      size += part.length;
      if (size > SIZE_MAX) throw new Error(`it is larger than ${SIZE_MAX >> 20} MiB`);
      reader.write(decoder.decode(part, { stream: true }));
      yield* reader.take();
    }
    reader.end();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof StepError) throw error;
    throw new StepError('transient', `the sitemap ${url} could not be read: ${messageOf(error)}`);
  } finally {
    reply.body.destroy();
  }
}

/** Sitemaps are often stored compressed, whatever their name. */
async function* unpacked(reply: Reply): AsyncGenerator<Buffer> {
  const parts = reply.body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await parts.next();
  if (first.done === true) return;
  const rest = async function* () {
    yield first.value;
    for (let next = await parts.next(); next.done !== true; next = await parts.next()) yield next.value;
  };
  if (first.value[0] !== 0x1f || first.value[1] !== 0x8b) return yield* rest();
  const gunzip = createGunzip();
  const feeding = feed(rest(), gunzip);
  for await (const part of gunzip) yield part as Buffer;
  await feeding;
}

async function feed(from: AsyncIterable<Buffer>, to: ReturnType<typeof createGunzip>): Promise<void> {
  try {
    for await (const part of from)
      if (!to.write(part)) await new Promise((resolve) => to.once('drain', resolve).once('close', resolve));
    to.end();
  } catch (error) {
    to.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}

/** One sitemap document. Only `loc` and `lastmod` right below `url` or `sitemap` count: extensions have elements of the same names. */
class SitemapReader {
  readonly #parser = new SaxesParser({ xmlns: false });
  readonly #path: string[] = [];
  readonly #found: Found[] = [];
  #text = '';
  #loc = '';
  #lastmod: string | undefined;

  constructor() {
    this.#parser.on('error', (error) => {
      throw error;
    });
    this.#parser.on('opentag', ({ name }) => this.#open(name));
    this.#parser.on('closetag', ({ name }) => this.#close(name));
    this.#parser.on('text', (text) => {
      this.#text += text;
    });
    this.#parser.on('cdata', (text) => {
      this.#text += text;
    });
  }

  write(text: string): void {
    this.#parser.write(text);
  }

  /** Throws where the document is not whole. */
  end(): void {
    this.#parser.close();
  }

  take(): Found[] {
    return this.#found.splice(0);
  }

  #open(name: string): void {
    if (this.#path.length === 0 && name !== 'urlset' && name !== 'sitemapindex')
      throw new Error(`it is no sitemap: it starts with <${name}>`);
    this.#path.push(name);
    this.#text = '';
  }

  #close(name: string): void {
    this.#path.pop();
    const above = this.#path.at(-1);
    const isEntry = this.#path.length === 2 && (above === 'url' || above === 'sitemap');
    if (isEntry && name === 'loc') this.#loc = this.#text.trim();
    if (isEntry && name === 'lastmod') this.#lastmod = this.#text.trim();
    if (this.#path.length === 1 && (name === 'url' || name === 'sitemap')) this.#finish(name);
    this.#text = '';
  }

  #finish(name: 'url' | 'sitemap'): void {
    const entry = { url: this.#loc, ...(this.#lastmod && { lastmod: this.#lastmod }) };
    if (this.#loc !== '') this.#found.push({ kind: name === 'url' ? 'page' : 'sitemap', entry });
    this.#loc = '';
    this.#lastmod = undefined;
  }
}
