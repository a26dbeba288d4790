// The version of a page and its content, by conditional requests.
//   P1. The version is the page's ETag, else its date of change, else the hash of its content; the same for a look and for a read.
//   P2. What was learned of a page is kept, so that the next look is answered by 304, or not needed where the sitemap's date stayed.
//   P3. A page that cannot be looked at is still listed, with a version that no page has: its run then fails alone and keeps its rows.
import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { ItemContent, ReadOptions } from '../../execute/index.ts';
import { type FailureClass, StepError } from '../../sdk/index.ts';
import { tooLarge } from '../common/too-large.ts';
import { pause } from '../common/waiting.ts';
import type { SitemapEntry } from './sitemap.ts';
import { bodyOf, type Reply, retryAfterMs, type Web } from './web.ts';

/** What is known of a page. */
interface Known {
  readonly version: string;
  readonly lastmod: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

export type Look =
  | { readonly kind: 'there'; readonly version: string }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unreadable' };

export const UNREADABLE_VERSION = 'unreadable';
const GONE: ReadonlySet<number> = new Set([404, 410]);
/** A page that has neither ETag nor date is read for its hash; above this, its hash is that of its start. */
const HASHED_MAX = 16 << 20;
const ATTEMPTS_MAX = 3;
const WAIT_MAX_MS = 60_000;

export class Pages {
  readonly #web: Web;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();

  constructor(web: Web, clock: Clock) {
    this.#web = web;
    this.#clock = clock;
  }

  /** The version of a page now, with as little traffic as it takes. Throws the signal's reason. */
  async look({ url, lastmod }: SitemapEntry, signal: AbortSignal): Promise<Look> {
    const known = this.#known.get(url);
    if (known !== undefined && lastmod !== undefined && known.lastmod === lastmod)
      return { kind: 'there', version: known.version };
    try {
      return await this.#ask(url, lastmod, known, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof StepError)) throw error;
      return { kind: 'unreadable' };
    }
  }

  /** Reads a page. Undefined: it is gone. Throws StepError, or the signal's reason. */
  async read(url: string, { signal, maxBytes }: ReadOptions): Promise<ItemContent | undefined> {
    const reply = await this.#web.ask('GET', url, {}, signal);
    if (reply.status !== 200) reply.body.destroy();
    if (GONE.has(reply.status)) return undefined;
    if (reply.status !== 200) throw refusal(url, reply, this.#clock.nowMs());
    const declared = Number(reply.headers['content-length'] ?? 0);
    if (declared > maxBytes) reply.body.destroy();
    const bytes = declared > maxBytes ? undefined : await bodyOf(reply, maxBytes, signal);
    if (bytes === undefined) throw tooLarge(url, Math.max(declared, maxBytes + 1), maxBytes);
    return { version: versionIn(reply) ?? hashOf(bytes), bytes };
  }

  /** Forgets pages that a whole listing did not name. */
  keepOnly(urls: ReadonlySet<string>): void {
    for (const url of this.#known.keys()) if (!urls.has(url)) this.#known.delete(url);
  }

  async #ask(url: string, lastmod: string | undefined, known: Known | undefined, signal: AbortSignal): Promise<Look> {
    let reply = await this.#patiently('HEAD', url, known?.headers ?? {}, signal);
    if (reply.status === 304 && known !== undefined) return this.#learn(url, { ...known, lastmod });
    let version = reply.status === 200 ? versionIn(reply) : undefined;
    // No HEAD here, or nothing in it that tells versions apart.
    if (version === undefined && [200, 405, 501].includes(reply.status)) {
      reply = await this.#patiently('GET', url, {}, signal);
      version = reply.status === 200 ? (versionIn(reply) ?? (await hashedVersion(reply, signal))) : undefined;
    }
    reply.body.destroy();
    if (GONE.has(reply.status)) return { kind: 'gone' };
    if (version === undefined) return { kind: 'unreadable' };
    return this.#learn(url, { version, lastmod, headers: conditions(reply) });
  }

  #learn(url: string, known: Known): Look {
    this.#known.set(url, known);
    return { kind: 'there', version: known.version };
  }

  /** Waits as a server asks, within bounds; its last answer counts. */
  async #patiently(
    method: 'HEAD' | 'GET',
    url: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Reply> {
    for (let attempt = 1; ; attempt++) {
      const reply = await this.#web.ask(method, url, headers, signal);
      const waitMs =
        reply.status === 429 || reply.status === 503 ? retryAfterMs(reply, this.#clock.nowMs()) : undefined;
      if (waitMs === undefined || waitMs > WAIT_MAX_MS || attempt >= ATTEMPTS_MAX) return reply;
      reply.body.destroy();
      await pause(this.#clock, waitMs, signal);
    }
  }
}

function versionIn(reply: Reply): string | undefined {
  const { etag, 'last-modified': modified } = reply.headers;
  return etag !== undefined ? `etag:${etag}` : modified !== undefined ? `modified:${modified}` : undefined;
}

function conditions(reply: Reply): Record<string, string> {
  const { etag, 'last-modified': modified } = reply.headers;
  return {
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(modified !== undefined && { 'if-modified-since': modified }),
  };
}

const hashOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

async function hashedVersion(reply: Reply, signal: AbortSignal): Promise<string | undefined> {
  const bytes = await bodyOf(reply, HASHED_MAX, signal);
  return bytes && hashOf(bytes);
}

function refusal(url: string, reply: Reply, nowMs: number): StepError {
  const { status } = reply;
  const kind: FailureClass =
    status === 429 ? 'rate-limited' : status >= 500 || status === 408 ? 'transient' : 'invalid';
  const waitMs = retryAfterMs(reply, nowMs);
  const advice = status === 401 || status === 403 ? '; give http.tokenFrom, or exclude the page' : '';
  return new StepError(
    kind,
    `${url} answered ${status}${advice}`,
    waitMs === undefined ? {} : { retryAfterMs: waitMs },
  );
}
