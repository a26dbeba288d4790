// A server with the OpenAI interface over the embedders that Fairlead ships: to try `openai` offline, and to stand for
// outside services in tests. `GET /stats` counts what it was asked, `PUT /faults` changes what it plays.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../runner/clock.ts';
import { answerChat } from './chat.ts';
import { Counters, type EmbedServerStats, type Faults, isHit } from './faults.ts';

/** Embeds the texts of a request. */
export type EmbedAll = (texts: readonly string[], signal: AbortSignal) => Promise<readonly Float32Array[]>;

export interface EmbedServerOptions {
  readonly embedAll: EmbedAll;
  /** Name that `/v1/models` gives. */
  readonly model: string;
  readonly clock: Clock;
  readonly host?: string;
  /** 0 or absent: any free port. */
  readonly port?: number;
  readonly faults?: Faults;
}

export interface EmbedServer {
  /** Base address for a Pipeline: `http://host:port/v1`. */
  readonly url: string;
  stats(): EmbedServerStats;
  setFaults(faults: Faults): void;
  close(): Promise<void>;
}

const BODY_BYTES_MAX = 64 * 1024 * 1024;

export async function startEmbedServer(options: EmbedServerOptions): Promise<EmbedServer> {
  const desk = new Desk(options);
  const server = createServer((request, response) => void desk.serve(request, response));
  server.on('connection', () => desk.counters.connections++);
  await listen(server, options.host ?? '127.0.0.1', options.port ?? 0);
  const { address, port, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/v1`,
    stats: () => desk.counters.stats(),
    setFaults: (faults) => {
      desk.faults = faults;
    },
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
}

/** What an answer is before it is written. `silent`: none comes. */
interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: { readonly [name: string]: string };
}

class Desk {
  readonly counters = new Counters();
  faults: Faults;
  readonly #options: EmbedServerOptions;

  constructor(options: EmbedServerOptions) {
    this.#options = options;
    this.faults = options.faults ?? {};
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://server').pathname;
    try {
      const answer = await this.#route(`${request.method} ${path}`, request, goneSignal(response));
      if (answer !== 'silent') write(response, answer);
    } catch (error) {
      write(response, refusal(400, error instanceof Error ? error.message : String(error)));
    }
  }

  async #route(route: string, request: IncomingMessage, gone: AbortSignal): Promise<Answer | 'silent'> {
    if (route === 'GET /stats') return { status: 200, body: this.counters.stats() };
    if (route === 'GET /v1/models') return { status: 200, body: modelList(this.#options.model) };
    if (route === 'PUT /faults') {
      this.faults = (await readJson(request)) as Faults;
      return { status: 200, body: this.faults };
    }
    if (route === 'POST /v1/embeddings') return this.#counted(request, (body) => this.#embed(body, gone));
    if (route === 'POST /v1/chat/completions') return this.#counted(request, async (body) => answerChat(body));
    return refusal(404, `no such page: ${route}`);
  }

  /** Faults that hit any request come before the request is looked at. */
  async #counted(request: IncomingMessage, serve: (body: unknown) => Promise<Answer>): Promise<Answer | 'silent'> {
    const { clock } = this.#options;
    this.counters.began(clock.nowMs());
    if (request.headers.authorization !== undefined) this.counters.authorized++;
    const count = this.counters.requests;
    const body = await readJson(request);
    const { delayMs = 0 } = this.faults;
    if (delayMs > 0) await new Promise<void>((resolve) => clock.after(delayMs, resolve));
    if (isHit(this.faults.silent, count)) {
      this.counters.silent++;
      return 'silent';
    }
    const answer = this.#fault(count) ?? (await serve(body));
    this.counters.answered(answer.status);
    return answer;
  }

  #fault(count: number): Answer | undefined {
    const { rateLimited, requestsPerSecond, failed } = this.faults;
    if (isHit(rateLimited, count)) return limited(rateLimited?.retryAfter);
    if (requestsPerSecond !== undefined && this.counters.perSecond > requestsPerSecond) return limited('1');
    if (isHit(failed, count)) return refusal(500, 'the server failed, as it was told to');
    return undefined;
  }

  async #embed(body: unknown, signal: AbortSignal): Promise<Answer> {
    const { input, encoding_format: encoding, model } = body as { [name: string]: unknown };
    const texts = typeof input === 'string' ? [input] : input;
    if (!Array.isArray(texts) || texts.length === 0 || !texts.every((text) => typeof text === 'string')) {
      return refusal(400, 'input must be a text or a list of texts');
    }
    this.counters.largestBatch = Math.max(this.counters.largestBatch, texts.length);
    const refused = this.#refusedInput(texts, encoding);
    if (refused !== undefined) return refused;
    const vectors = await this.#options.embedAll(texts, signal);
    this.counters.texts += texts.length;
    const data = this.#spoilt(texts, vectors).map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: encoding === 'base64' ? base64(vector) : Array.from(vector, (value) => value),
    }));
    const tokens = texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
    const usage = { prompt_tokens: tokens, total_tokens: tokens };
    return { status: 200, body: { object: 'list', model: model ?? this.#options.model, data, usage } };
  }

  #refusedInput(texts: readonly string[], encoding: unknown): Answer | undefined {
    const { tooManyAbove, tooLongAbove, refusedWord, noBase64 } = this.faults;
    if (noBase64 && encoding === 'base64') return refusal(400, 'encoding_format must be float');
    if (tooManyAbove !== undefined && texts.length > tooManyAbove) {
      return refusal(413, `batch size ${texts.length} > maximum allowed batch size ${tooManyAbove}`);
    }
    const longest = Math.max(...texts.map((text) => text.length));
    if (tooLongAbove !== undefined && longest > tooLongAbove) {
      return refusal(400, `This model's maximum context length is ${tooLongAbove}, but a text has ${longest}`);
    }
    if (refusedWord !== undefined && texts.some((text) => text.includes(refusedWord))) {
      return refusal(400, 'the input cannot be embedded');
    }
    return undefined;
  }

  #spoilt(texts: readonly string[], vectors: readonly Float32Array[]): readonly Float32Array[] {
    const { short, nanWord, dimensions } = this.faults;
    const some = isHit(short, this.counters.requests) ? vectors.slice(1) : vectors;
    return some.map((vector, i) => {
      if (dimensions !== undefined) return new Float32Array(dimensions).fill(0.1);
      if (nanWord !== undefined && texts[i]!.includes(nanWord)) return new Float32Array(vector.length).fill(Number.NaN);
      return vector;
    });
  }
}

const base64 = (vector: Float32Array): string =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64');

const modelList = (id: string) => ({ object: 'list', data: [{ id, object: 'model', owned_by: 'fairlead' }] });

const refusal = (status: number, message: string): Answer => ({ status, body: { error: { message, code: status } } });

const limited = (retryAfter: string | undefined): Answer => ({
  ...refusal(429, 'the rate limit was reached'),
  ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
});

function write(response: ServerResponse, { status, body, headers = {} }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Aborts when the connection closes before the answer was sent. */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableEnded) gone.abort(new Error('the client went away'));
  });
  return gone.signal;
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) throw new Error('the request is too large');
    parts.push(part);
  }
  const parsed: unknown = JSON.parse(Buffer.concat(parts).toString('utf8') || '{}');
  if (typeof parsed !== 'object' || parsed === null) throw new Error('the request must be a JSON object');
  return parsed;
}
