// A server with the OpenAI interface: bounded connections, one rate for all who call it, failures by class.
// Owns:   connections, the time limit of a request, the shared rate and its pauses, secrets of requests.
// Leaves: what is asked and what an answer means (`embed`, `extract`), batching (`sdk`), retrying attempts (the engine).
//   N1. No request is sent faster than the endpoint's rate, whoever in this process asks.
//   N2. A 429 pauses everyone. Up to SHORT_PAUSE_MS the call waits and tries again; a longer pause is passed on, and
//       until it is over further calls are answered without asking the server (F25).
//   N3. Every request ends within its time limit, whatever the server does (F29).
//   N4. The key stands in no message, log or status.
import { Agent, errors, request } from 'undici';
import type { EndpointSpec } from '../../../crds/schema/index.ts';
import type { Clock } from '../../clock.ts';
import { callFor, type StepCalls } from '../../execute/index.ts';
import { RateLimiter, StepError } from '../../sdk/index.ts';
import { namesSecret, type Secrets } from '../../secrets.ts';
import { EndpointError, refused } from './failure.ts';
import { retryAfterMs } from './retry-after.ts';

/** Waits up to this keep the slot of the run; longer ones end the attempt (design A13). */
export const SHORT_PAUSE_MS = 5_000;
/** First pause after a 429 that names none; it doubles. */
const FIRST_PAUSE_MS = 250;
/** 429 answers to one call, each waited out, before it is passed on. */
const SHORT_PAUSES_MAX = 20;
const CONNECTIONS_MAX = 16;
const REPLY_BYTES_MAX = 256 * 1024 * 1024;
/** Requests are spaced evenly: whoever counts them, in whatever window, sees no excess (F31). */
const REQUEST_WINDOW_SECONDS = 0;
/** Tokens are estimates, and a request's come all at once: a second's worth may be saved up. */
const TOKEN_WINDOW_SECONDS = 1;
/** What stands for "no limit": the limiter still carries the pauses. */
const UNLIMITED_PER_SECOND = 1e9;

export type EndpointSettings = Pick<EndpointSpec, 'url' | 'headers' | 'rateLimit' | 'model' | 'keyFrom'>;

export interface EndpointDeps {
  readonly clock: Clock;
  /** Keys are read anew at each call. */
  readonly secrets: Secrets;
}

export interface PostOptions {
  /** Estimated tokens of the request, for a rate in tokens. */
  readonly tokens: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Runs that the request serves, for their traces; its size in parts. */
  readonly calls?: readonly (StepCalls | undefined)[];
  readonly parts?: number;
}

/** Endpoints of a process; those with equal address and key share their connections and their rate. */
export class Endpoints {
  readonly #deps: EndpointDeps;
  readonly #open = new Map<string, { readonly endpoint: Endpoint; users: number }>();
  #sharers = 1;

  constructor(deps: EndpointDeps) {
    this.#deps = deps;
  }

  /** Opens an endpoint; give it back with `close`. */
  open(settings: EndpointSettings): Endpoint {
    const { url, keyFrom, rateLimit, headers } = settings;
    const id = JSON.stringify([url, keyFrom, rateLimit, headers]);
    const known = this.#open.get(id) ?? { endpoint: this.#connect(settings, id), users: 0 };
    known.users++;
    this.#open.set(id, known);
    return known.endpoint;
  }

  /** How many processes keep to the rates together: each gets an equal part, so that all of them keep to the whole. */
  share(processes: number): void {
    this.#sharers = Math.max(1, processes);
    for (const { endpoint } of this.#open.values()) endpoint.share(this.#sharers);
  }

  #connect(settings: EndpointSettings, id: string): Endpoint {
    const endpoint = new Endpoint(settings, this.#deps, async (agent) => {
      const known = this.#open.get(id);
      if (known === undefined || --known.users > 0) return;
      this.#open.delete(id);
      await agent.destroy();
    });
    endpoint.share(this.#sharers);
    return endpoint;
  }
}

export class Endpoint {
  readonly #settings: EndpointSettings;
  readonly #deps: EndpointDeps;
  readonly #agent = new Agent({ connections: CONNECTIONS_MAX, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  readonly #requests: RateLimiter;
  readonly #tokens: RateLimiter | undefined;
  readonly #onClose: (agent: Agent) => Promise<void>;

  constructor(settings: EndpointSettings, deps: EndpointDeps, onClose: (agent: Agent) => Promise<void>) {
    const { requestsPerMinute, tokensPerMinute } = settings.rateLimit ?? {};
    this.#settings = settings;
    this.#deps = deps;
    for (const [name, value] of Object.entries(settings.headers ?? {}))
      if (namesSecret(name)) deps.secrets.remember(value);
    this.#onClose = onClose;
    const isLimited = requestsPerMinute !== undefined;
    const perSecond = isLimited ? requestsPerMinute / 60 : UNLIMITED_PER_SECOND;
    this.#requests = new RateLimiter(perSecond, deps.clock, isLimited ? REQUEST_WINDOW_SECONDS : 1);
    this.#tokens =
      tokensPerMinute === undefined
        ? undefined
        : new RateLimiter(tokensPerMinute / 60, deps.clock, TOKEN_WINDOW_SECONDS);
  }

  share(processes: number): void {
    const { requestsPerMinute, tokensPerMinute } = this.#settings.rateLimit ?? {};
    if (requestsPerMinute !== undefined) this.#requests.setRate(requestsPerMinute / 60 / processes);
    if (tokensPerMinute !== undefined) this.#tokens?.setRate(tokensPerMinute / 60 / processes);
  }

  /** The server as messages name it: without path, user or query. */
  get name(): string {
    return new URL(this.#settings.url).host;
  }

  /** Posts JSON and gives the parsed answer. Throws StepError by class; on abort the signal's reason. */
  async post(path: string, body: unknown, options: PostOptions): Promise<unknown> {
    const payload = JSON.stringify(body);
    for (let pauses = 0; ; pauses++) {
      await this.#turn(options);
      try {
        const { calls = [], parts = 1 } = options;
        return await callFor(calls, this.name, parts, () => this.#send(path, payload, options));
      } catch (error) {
        if (!(error instanceof EndpointError) || error.class !== 'rate-limited') throw error;
        const pauseMs = error.retryAfterMs ?? Math.min(SHORT_PAUSE_MS, FIRST_PAUSE_MS * 2 ** pauses);
        this.#requests.pauseUntil(this.#deps.clock.nowMs() + pauseMs);
        if (pauseMs > SHORT_PAUSE_MS || pauses >= SHORT_PAUSES_MAX) throw error;
      }
    }
  }

  /** Gives the endpoint back; the last one to do so closes its connections. */
  close(): Promise<void> {
    return this.#onClose(this.#agent);
  }

  async #turn({ tokens, signal }: PostOptions): Promise<void> {
    const pausedMs = this.#requests.pausedForMs();
    if (pausedMs > SHORT_PAUSE_MS) {
      const message = `${this.name} asked for a pause of ${Math.ceil(pausedMs / 1000)} s (429)`;
      throw new StepError('rate-limited', message, { retryAfterMs: pausedMs });
    }
    await this.#tokens?.acquire(tokens, signal);
    await this.#requests.acquire(1, signal);
  }

  async #send(path: string, payload: string, options: PostOptions): Promise<unknown> {
    const { clock, secrets } = this.#deps;
    const { keyFrom, headers, url } = this.#settings;
    const traceparent = options.calls?.[0]?.traceparent;
    const key = keyFrom === undefined ? undefined : await secrets.read(keyFrom);
    const limit = new AbortController();
    const stopTimer = clock.after(options.timeoutMs, () => limit.abort());
    try {
      const reply = await request(`${url.replace(/\/+$/, '')}${path}`, {
        method: 'POST',
        dispatcher: this.#agent,
        headers: {
          ...headers,
          ...(traceparent === undefined ? {} : { traceparent }),
          'content-type': 'application/json',
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        },
        body: payload,
        signal: AbortSignal.any([options.signal, limit.signal]),
      });
      const text = await boundedText(reply.body, this.name);
      if (reply.statusCode >= 200 && reply.statusCode < 300) return this.#parsed(text);
      const waitMs = retryAfterMs(reply.headers, clock.nowMs());
      const refusal = { status: reply.statusCode, body: text, retryAfterMs: waitMs };
      throw refused(this.name, refusal, secrets.hide);
    } catch (error) {
      throw this.#failure(error, options, limit.signal);
    } finally {
      stopTimer();
    }
  }

  #parsed(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw new StepError('transient', `${this.name} answered with something that is not JSON`);
    }
  }

  #failure(error: unknown, options: PostOptions, limit: AbortSignal): unknown {
    if (options.signal.aborted) return options.signal.reason;
    if (limit.aborted) {
      return new StepError('timeout', `${this.name} did not answer within ${options.timeoutMs / 1000} s`);
    }
    if (error instanceof StepError) return error;
    if (error instanceof errors.InvalidArgumentError) return new StepError('invalid', `${this.name}: ${error.message}`);
    return new StepError('transient', `${this.name} cannot be reached: ${reasonOf(error)}`, { cause: error });
  }
}

/** Both code and words where one lacks the other: of several addresses that refuse there are no words. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (error.message.includes(code)) return error.message;
  return error.message === '' ? code : `${code}: ${error.message}`;
}

async function boundedText(body: AsyncIterable<Uint8Array>, name: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.byteLength;
    if (bytes > REPLY_BYTES_MAX)
      throw new StepError('invalid', `${name} answered with more than ${REPLY_BYTES_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
