// Requests to web servers, the careful way.
//   H1. Redirects are followed only within the host that was asked, and never from https to http, so that neither the token nor the
//       index ends up elsewhere.
//   H2. Nothing is compressed on the way: a server that compresses names another version of the same page.
import type { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { StepError } from '../../sdk/index.ts';
import { codeOf, messageOf } from '../common/failure.ts';

export interface WebOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Bearer token, read anew for each request; undefined: none is sent. */
  readonly token: () => Promise<string | undefined>;
  /** Most requests at once to one host. */
  readonly concurrency: number;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Must be read to its end or destroyed. */
  readonly body: Readable;
}

const REDIRECTS_MAX = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const TIMEOUT_MS = 30_000;
const AGENT = 'fairlead';

export class Web {
  readonly #options: WebOptions;
  readonly #dispatcher: Agent;

  constructor(options: WebOptions) {
    this.#options = options;
    this.#dispatcher = new Agent({
      connections: options.concurrency,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
  }

  /** Asks for a page. Throws StepError, or the signal's reason. */
  async ask(
    method: 'GET' | 'HEAD',
    url: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Reply> {
    const token = await this.#options.token();
    const all = {
      ...this.#options.headers,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
      'user-agent': AGENT,
      'accept-encoding': 'identity',
    };
    let at = url;
    for (let hop = 0; hop <= REDIRECTS_MAX; hop++) {
      const reply = await this.#once(method, at, all, signal);
      const location = REDIRECTS.has(reply.status) ? reply.headers.location : undefined;
      if (location === undefined) return reply;
      reply.body.destroy();
      at = redirected(at, location);
    }
    throw new StepError('invalid', `${url} redirects more than ${REDIRECTS_MAX} times`);
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #once(
    method: 'GET' | 'HEAD',
    url: string,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<Reply> {
    try {
      const reply = await request(url, { method, headers, signal, dispatcher: this.#dispatcher });
      // Leaving a page half read is no fault; who reads it to the end hears of one by the read.
      reply.body.on('error', () => {});
      return { status: reply.statusCode, headers: flat(reply.headers), body: reply.body };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw new StepError(
        codeOf(error)?.includes('TIMEOUT') ? 'timeout' : 'transient',
        `${url} could not be reached: ${messageOf(error)}`,
      );
    }
  }
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
}

/** H1. */
function redirected(from: string, location: string): string {
  const here = new URL(from);
  const target = URL.canParse(location, from) ? new URL(location, from) : undefined;
  const isUpgrade =
    here.protocol === 'http:' && target?.protocol === 'https:' && here.port === '' && target.port === '';
  if (
    target !== undefined &&
    target.hostname === here.hostname &&
    (isUpgrade || (target.protocol === here.protocol && target.port === here.port))
  )
    return target.href;
  throw new StepError(
    'invalid',
    `${from} redirects to another host (${target?.host ?? 'no address'}); name that address instead`,
  );
}

/** Reads a body of at most `maxBytes`; undefined: it is longer. Throws StepError, or the signal's reason. */
export async function bodyOf(reply: Reply, maxBytes: number, signal: AbortSignal): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of reply.body) {
      size += (part as Buffer).length;
      if (size > maxBytes) return undefined;
      parts.push(part as Buffer);
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new StepError('transient', `an answer broke off: ${messageOf(error)}`);
  } finally {
    reply.body.destroy();
  }
  return Buffer.concat(parts);
}

/** Milliseconds that Retry-After asks for, in seconds or as a date; undefined: nothing that can be read. */
export function retryAfterMs(reply: Reply, nowMs: number): number | undefined {
  const text = reply.headers['retry-after'];
  if (text === undefined) return undefined;
  if (/^[0-9]+$/.test(text)) return Number(text) * 1_000;
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}
