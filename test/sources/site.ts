// A web site for tests: pages with ETags, dates or neither, on the loopback.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Page {
  readonly body: string | Buffer;
  readonly type?: string;
  /** What the server says of versions. Default `etag`. */
  readonly validator?: 'etag' | 'modified' | 'none';
  readonly noHead?: boolean;
}

const DATE = 'Wed, 01 Apr 2026 10:00:00 GMT';

export class Site {
  readonly pages = new Map<string, Page | string>();
  /** Requests as `METHOD path status`. */
  readonly requests: string[] = [];
  readonly headers: IncomingMessage['headers'][] = [];
  /** Answers instead of a page, where it answers at all. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      response.once('finish', () => this.requests.push(`${request.method} ${request.url} ${response.statusCode}`));
      this.headers.push(request.headers);
      if (this.intercept?.(request, response) !== true) this.#serve(request, response);
    });
  }

  static async start(pages: Readonly<Record<string, Page | string>>): Promise<Site> {
    const site = new Site();
    for (const [path, page] of Object.entries(pages)) site.pages.set(path, page);
    site.#server.listen(0, '127.0.0.1');
    await new Promise((resolve) => site.#server.once('listening', resolve));
    return site;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A sitemap of paths, or of paths with a date. */
  sitemap(entries: readonly (string | readonly [path: string, lastmod: string])[], path = '/sitemap.xml'): string {
    const urls = entries.map((entry) => {
      const [at, lastmod] = typeof entry === 'string' ? [entry, undefined] : entry;
      const loc = `<loc>${(at.startsWith('http') ? at : this.url + at).replaceAll('&', '&amp;')}</loc>`;
      return `<url>${loc}${lastmod === undefined ? '' : `<lastmod>${lastmod}</lastmod>`}</url>`;
    });
    this.pages.set(
      path,
      `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls.join('\n')}</urlset>`,
    );
    return this.url + path;
  }

  /** Requests since the last call. */
  taken(): string[] {
    return this.requests.splice(0);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const found = this.pages.get(request.url ?? '');
    if (found === undefined) return void response.writeHead(404).end('no');
    const page: Page = typeof found === 'string' ? { body: found } : found;
    if (request.method === 'HEAD' && page.noHead === true) return void response.writeHead(405).end();
    const etag = `"${createHash('sha256').update(page.body).digest('hex').slice(0, 12)}"`;
    const validator = page.validator ?? 'etag';
    if (validator === 'etag') response.setHeader('etag', etag);
    if (validator === 'modified') response.setHeader('last-modified', DATE);
    const isSame =
      (validator === 'etag' && request.headers['if-none-match'] === etag) ||
      (validator === 'modified' && request.headers['if-modified-since'] === DATE);
    if (isSame) return void response.writeHead(304).end();
    response
      .writeHead(200, { 'content-type': page.type ?? 'text/html' })
      .end(request.method === 'HEAD' ? undefined : page.body);
  }
}
