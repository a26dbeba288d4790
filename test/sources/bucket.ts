// A small server that speaks the part of S3 that a source needs: paged lists, HEAD and GET, in path style. Signatures are checked, so
// that a request with the wrong key fails as it would elsewhere.
import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const ACCESS_KEY = 'AKIDEXAMPLE';
export const SECRET_KEY = 'the secret of the bucket';

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Whether a request is signed with our key, by version 4 of the scheme. */
function isSigned(request: IncomingMessage): boolean {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d+)\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]+)$/.exec(
      request.headers.authorization ?? '',
    );
  if (match === null || match[1] !== ACCESS_KEY) return false;
  const [, , day = '', region = '', names = '', signature] = match;
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const headers = names.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
  const sorted = query
    .split('&')
    .map((pair) => (pair.includes('=') || pair === '' ? pair : `${pair}=`))
    .sort()
    .join('&');
  const canonical = [
    request.method,
    path,
    sorted,
    headers.join(''),
    names,
    request.headers['x-amz-content-sha256'],
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = [
    'AWS4-HMAC-SHA256',
    request.headers['x-amz-date'],
    scope,
    createHash('sha256').update(canonical).digest('hex'),
  ].join('\n');
  const key = [region, 's3', 'aws4_request'].reduce<Buffer>(
    (above, part) => hmac(above, part),
    hmac(`AWS4${SECRET_KEY}`, day),
  );
  return hmac(key, text).toString('hex') === signature;
}

const inAddress = (text: string): string => encodeURIComponent(text).replaceAll('%2F', '/').replaceAll('%20', '+');

export class Bucket {
  readonly objects = new Map<string, string>();
  readonly requests: string[] = [];
  /** Answers instead of the bucket, where it answers at all. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.requests.push(`${request.method} ${request.url}`);
      if (this.intercept?.(request, response) !== true) this.#serve(request, response);
    });
  }

  static async start(objects: Readonly<Record<string, string>> = {}): Promise<Bucket> {
    const bucket = new Bucket();
    for (const [key, text] of Object.entries(objects)) bucket.objects.set(key, text);
    bucket.#server.listen(0, '127.0.0.1');
    await new Promise((resolve) => bucket.#server.once('listening', resolve));
    return bucket;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  fail(response: ServerResponse, status: number, code: string): void {
    response
      .writeHead(status, { 'content-type': 'application/xml' })
      .end(`<Error><Code>${code}</Code><Message>no</Message></Error>`);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    // Not as a URL: that would take `..` in a key for a way up.
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const parameters = new URLSearchParams(query);
    if (!isSigned(request)) return this.fail(response, 403, 'SignatureDoesNotMatch');
    if (!path.startsWith('/docs')) return this.fail(response, 404, 'NoSuchBucket');
    if (parameters.get('list-type') === '2') return this.#list(parameters, response);
    const text = this.objects.get(decodeURIComponent(path.slice('/docs/'.length)));
    if (text === undefined) return this.fail(response, 404, 'NoSuchKey');
    response.writeHead(200, {
      etag: `"${createHash('md5').update(text).digest('hex')}"`,
      'content-length': Buffer.byteLength(text),
    });
    response.end(request.method === 'HEAD' ? undefined : text);
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const prefix = query.get('prefix') ?? '';
    const after = query.get('continuation-token') ?? '';
    const max = Math.min(1_000, Number(query.get('max-keys') ?? 1_000));
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const page = keys.slice(0, max);
    const contents = page.map((key) => {
      const text = this.objects.get(key) ?? '';
      const etag = createHash('md5').update(text).digest('hex');
      return `<Contents><Key>${inAddress(key)}</Key><ETag>&quot;${etag}&quot;</ETag><Size>${Buffer.byteLength(text)}</Size></Contents>`;
    });
    const isTruncated = keys.length > page.length;
    const next = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(
      `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${next}<EncodingType>url</EncodingType>${contents.join('')}</ListBucketResult>`,
    );
  }
}
