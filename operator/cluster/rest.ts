// Requests to the API server: plain JSON in and out, deadlines, retries, a budget.
//
//   K1. Every request has a deadline; nothing waits for ever on a server that accepts and does not answer.
//   K2. A refusal that another try cannot change reaches the caller at once. Note that some refusals are 500s:
//       an apply with an unknown field answers 500 without a reason, and retrying it would hammer for ever on a typo.
//   K3. 429 and 503 are tried again after what Retry-After asks; lost connections only where a repeat is harmless.
//   K4. Requests keep to a rate, whatever asks for them; the lease and watches do not wait behind it.
import type { Clock } from '../clock.ts';
import type { Rate } from '../reconcile/index.ts';
import type { Connection, PoolName } from './connection.ts';
import { ApiError, toApiError, Unreachable } from './errors.ts';
import { jitteredBackoff, pause } from './pause.ts';
import { RateLimit } from './rate.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface ApiRequest {
  readonly method: Method;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** Default `application/json`. Patches must name theirs. */
  readonly contentType?: string;
  /** Default 10 s; lists take 60 s. Covers all tries. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
  readonly pool?: PoolName;
  /** Whether a repeat is harmless though the first try may have been carried out. Default: all but POST. */
  readonly repeatable?: boolean;
  /** Tries at most; default 5. The leader's lease takes 1. */
  readonly tries?: number;
}

/** What the requests cost, for metrics; never changes a decision. */
export interface RequestObserver {
  /** A try ended; code 0: there was no answer. */
  requestEnded(method: Method, path: string, code: number, tookMs: number): void;
  requestRetried(method: Method, path: string, code: number): void;
}

export interface KubeApiOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  /** Uniform in [0, 1), for jitter. */
  readonly random: () => number;
  readonly userAgent: string;
  readonly observer?: RequestObserver;
  /** Requests at most, tries counted one by one. */
  readonly rate?: Rate;
}

/** As much as a healthy API server gives one client; its own priority and fairness takes over beyond that. */
const RATE: Rate = { perSecond: 300, burst: 500 };
const DEADLINE_MS = 10_000;
const BACKOFF_FIRST_MS = 200;
const BACKOFF_MAX_MS = 15_000;
const TRIES = 5;

export class KubeApi {
  readonly #options: KubeApiOptions;
  readonly #limit: RateLimit;
  #inFlight = 0;

  constructor(options: KubeApiOptions) {
    this.#options = options;
    this.#limit = new RateLimit(options.clock, options.rate ?? RATE);
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  get random(): () => number {
    return this.#options.random;
  }

  /** Requests that were begun and have not ended, back-off included; watches do not count. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Sends a request and parses its answer. Throws ApiError for a refusal, Unreachable where nothing is known. */
  async request<T>(request: ApiRequest): Promise<T> {
    const deadline = new Deadline(this.#options.clock, request.deadlineMs ?? DEADLINE_MS, request.signal);
    this.#inFlight++;
    try {
      for (let attempt = 1; ; attempt++) {
        const failure = await this.#try<T>(request, deadline.signal);
        if (failure.kind === 'answer') return failure.value;
        const waitMs = this.#retryAfter(request, failure.error, attempt);
        if (waitMs === undefined || deadline.signal.aborted || waitMs > deadline.leftMs()) throw failure.error;
        this.#options.observer?.requestRetried(request.method, request.path, codeOf(failure.error));
        await deadline.sleep(waitMs);
      }
    } finally {
      this.#inFlight--;
      deadline.end();
    }
  }

  /**
   * Opens a watch and yields its lines as they come. Ends when the server ends it, throws when the connection breaks or
   * the signal aborts; stall timers are the reflector's.
   */
  async *lines(path: string, query: ApiRequest['query'], signal: AbortSignal): AsyncGenerator<string> {
    const answer = await this.#send({ method: 'GET', path, pool: 'watch', ...(query && { query }) }, signal);
    const body = answer.body.setEncoding('utf8');
    let rest = '';
    for await (const chunk of body as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') yield line;
      if (lines.length === 0) yield ''; // a sign of life, though no whole line yet
    }
    if (rest !== '') throw new Unreachable('the watch ended in the middle of an event', undefined);
  }

  async #try<T>(
    request: ApiRequest,
    signal: AbortSignal,
  ): Promise<{ kind: 'answer'; value: T } | { kind: 'error'; error: unknown }> {
    const startedMs = this.clock.nowMs();
    try {
      if (request.pool !== 'lease') await this.#limit.take(signal); // K4
      const { body } = await this.#send(request, signal);
      const text = await body.text();
      return { kind: 'answer', value: (text === '' ? undefined : JSON.parse(text)) as T };
    } catch (error) {
      if (error instanceof ApiError || error instanceof Unreachable) return { kind: 'error', error };
      this.#options.observer?.requestEnded(request.method, request.path, 0, this.clock.nowMs() - startedMs);
      return { kind: 'error', error: new Unreachable(`${request.method} ${request.path}: ${describe(error)}`, error) };
    }
  }

  async #send(request: ApiRequest, signal: AbortSignal) {
    const { connection, clock, userAgent, observer } = this.#options;
    const startedMs = clock.nowMs();
    const route = await connection.route(request.pool ?? 'crud');
    const answer = await route.agent.request({
      origin: route.origin,
      path: route.prefix + request.path + queryString(request.query),
      method: request.method,
      headers: {
        accept: 'application/json',
        'user-agent': userAgent,
        ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
        ...route.headers,
      },
      body: request.body === undefined ? null : JSON.stringify(request.body),
      signal,
    });
    observer?.requestEnded(request.method, request.path, answer.statusCode, clock.nowMs() - startedMs);
    if (answer.statusCode < 300) return answer;
    throw toApiError(answer.statusCode, answer.headers, await answer.body.text(), clock.nowMs());
  }

  /** How long to wait before another try; undefined: the error is final (K2, K3). */
  #retryAfter(request: ApiRequest, error: unknown, attempt: number): number | undefined {
    if (attempt >= (request.tries ?? TRIES)) return undefined;
    const backoffMs = jitteredBackoff(attempt, BACKOFF_FIRST_MS, BACKOFF_MAX_MS, this.#options.random);
    if (error instanceof ApiError) {
      if (error.code === 429 || error.code === 503) return Math.max(error.retryAfterMs ?? 0, backoffMs);
      if (error.code === 401) return attempt === 1 ? 0 : undefined; // the token may just have been rotated
      const isRefusedApply = error.code === 500 && error.reason === '' && request.method === 'PATCH';
      return error.code >= 500 && !isRefusedApply && isRepeatable(request) ? backoffMs : undefined;
    }
    return isRepeatable(request) ? backoffMs : undefined;
  }
}

const isRepeatable = (request: ApiRequest): boolean => request.repeatable ?? request.method !== 'POST';
const codeOf = (error: unknown): number => (error instanceof ApiError ? error.code : 0);

function queryString(query: ApiRequest['query']): string {
  const entries = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  return entries.length === 0
    ? ''
    : `?${new URLSearchParams(entries.map(([name, value]): [string, string] => [name, String(value)]))}`;
}

/** The innermost cause says what happened; the outer ones say "fetch failed". */
function describe(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return inner instanceof Error ? inner.message : String(inner);
}

/** A point in time after which a request's signal aborts; also ends with the caller's signal. */
class Deadline {
  readonly #clock: Clock;
  readonly #atMs: number;
  readonly #controller = new AbortController();
  readonly #cancel: () => void;
  readonly #outer: AbortSignal | undefined;

  constructor(clock: Clock, afterMs: number, outer: AbortSignal | undefined) {
    this.#clock = clock;
    this.#atMs = clock.nowMs() + afterMs;
    this.#outer = outer;
    this.#cancel = clock.after(afterMs, () => this.#controller.abort(new Error(`no answer within ${afterMs} ms`)));
    if (outer?.aborted) this.#controller.abort(outer.reason);
    outer?.addEventListener('abort', this.#passOn);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  leftMs(): number {
    return this.#atMs - this.#clock.nowMs();
  }

  sleep(ms: number): Promise<void> {
    return pause(this.#clock, ms, this.signal);
  }

  end(): void {
    this.#cancel();
    this.#outer?.removeEventListener('abort', this.#passOn); // long-lived signals must not collect listeners
  }

  readonly #passOn = (): void => this.#controller.abort(this.#outer?.reason);
}
