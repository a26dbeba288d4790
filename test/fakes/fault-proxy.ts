// Stands between a client and a real API server and does on demand what networks and servers do at bad moments.
//   X1. Without a fault everything passes as it is, watches line by line.
//   X2. A fault meets the calls that it matches, as often as it says, in the order in which faults were put.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, type Dispatcher } from 'undici';

export interface ProxiedCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly kind: 'list' | 'watch' | 'other';
}

export type ProxyFault =
  /** Answered by the proxy; the server hears nothing. */
  | { readonly kind: 'status'; readonly code: number; readonly reason?: string; readonly retryAfterS?: number }
  /** A watch that says that its version is too old. */
  | { readonly kind: 'expired-event' }
  /** The connection breaks before the server hears of it. */
  | { readonly kind: 'cut' }
  /** The server carries it out, and the answer is lost. */
  | { readonly kind: 'lost-answer' }
  /** Passes when the promise resolves. */
  | { readonly kind: 'delay'; readonly until: Promise<void> };

interface Armed {
  readonly matches: (call: ProxiedCall) => boolean;
  readonly fault: ProxyFault;
  times: number;
}

interface WatchEvent {
  readonly type: string;
  readonly object: { readonly metadata: { readonly name: string } };
}

interface OpenWatch {
  readonly call: ProxiedCall;
  readonly answer: ServerResponse;
  readonly upstream: AbortController;
}

export class FaultProxy {
  readonly #target: string;
  readonly #server: Server;
  readonly #agent = new Agent({ connect: { rejectUnauthorized: false }, allowH2: false, bodyTimeout: 0 });
  readonly #faults: Armed[] = [];
  readonly #watches = new Set<OpenWatch>();
  readonly calls: ProxiedCall[] = [];
  #isDown = false;
  /** Set: watches swallow everything, and say nothing. */
  #isSilent = false;
  #drops: (event: WatchEvent, call: ProxiedCall) => boolean = () => false;
  #held: { readonly matches: (call: ProxiedCall) => boolean; readonly release: Promise<void> } | undefined;

  constructor(target: string) {
    this.#target = target;
    this.#server = createServer((request, answer) => {
      this.#answer(request, answer).catch(() => answer.destroy());
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.cutWatches();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#agent.destroy();
  }

  /** The next calls that match meet the fault (X2). */
  next(matches: (call: ProxiedCall) => boolean, fault: ProxyFault, times = 1): void {
    this.#faults.push({ matches, fault, times });
  }

  /** Faults that nobody met yet. */
  get armed(): number {
    return this.#faults.length;
  }

  /** Breaks all open watches. */
  cutWatches(): void {
    for (const { answer, upstream } of this.#watches) {
      upstream.abort();
      answer.destroy();
    }
    this.#watches.clear();
  }

  /** Nobody gets through: calls are cut, open watches break. */
  goDown(): void {
    this.#isDown = true;
    this.cutWatches();
  }

  comeUp(): void {
    this.#isDown = false;
  }

  /** From now on open watches give no sign of life; those that open later do. */
  silenceWatches(): void {
    this.#isSilent = true;
  }

  hearWatches(): void {
    this.#isSilent = false;
  }

  /** Events that are lost on the way. */
  dropEvents(drops: (event: WatchEvent, call: ProxiedCall) => boolean): void {
    this.#drops = drops;
  }

  /** Events of the watches that match arrive only when `release` resolves: a cache that lags. */
  holdEvents(matches: (call: ProxiedCall) => boolean, release: Promise<void>): void {
    this.#held = { matches, release };
  }

  async #answer(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const call = toCall(request);
    this.calls.push(call);
    if (this.#isDown) return void answer.destroy();
    const fault = this.#faultOf(call);
    if (fault !== undefined && (await this.#meet(fault, answer))) return;
    const upstream = new AbortController();
    answer.on('close', () => upstream.abort());
    const reply = await this.#forward(request, upstream.signal);
    if (fault?.kind === 'lost-answer') {
      await reply.body.dump();
      return void answer.destroy();
    }
    answer.writeHead(reply.statusCode, { 'content-type': String(reply.headers['content-type'] ?? 'application/json') });
    if (call.kind === 'watch' && reply.statusCode === 200) return await this.#pass(call, reply, answer, upstream);
    answer.end(Buffer.from(await reply.body.arrayBuffer()));
  }

  #faultOf(call: ProxiedCall): ProxyFault | undefined {
    const at = this.#faults.findIndex(({ matches }) => matches(call));
    const armed = this.#faults[at];
    if (armed === undefined) return undefined;
    if (--armed.times === 0) this.#faults.splice(at, 1);
    return armed.fault;
  }

  /** Whether the call ends with the fault. */
  async #meet(fault: ProxyFault, answer: ServerResponse): Promise<boolean> {
    if (fault.kind === 'cut') return Boolean(answer.destroy());
    if (fault.kind === 'delay') {
      await fault.until;
      return answer.destroyed;
    }
    if (fault.kind === 'lost-answer') return false;
    const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };
    if (fault.kind === 'expired-event') {
      answer.writeHead(200, JSON_TYPE).end(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
      return true;
    }
    const { code, reason = '', retryAfterS } = fault;
    const headers = retryAfterS === undefined ? JSON_TYPE : { ...JSON_TYPE, 'retry-after': String(retryAfterS) };
    answer.writeHead(code, headers).end(JSON.stringify({ ...status, code, reason, message: `made up: ${code}` }));
    return true;
  }

  async #forward(request: IncomingMessage, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    const { host: _, connection: __, 'transfer-encoding': ___, 'content-length': ____, ...headers } = request.headers;
    return await this.#agent.request({
      origin: this.#target,
      path: request.url ?? '/',
      method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
      headers: headers as Record<string, string>,
      body: body.length === 0 ? null : Buffer.concat(body),
      signal,
    });
  }

  async #pass(
    call: ProxiedCall,
    reply: Dispatcher.ResponseData,
    answer: ServerResponse,
    upstream: AbortController,
  ): Promise<void> {
    const watch: OpenWatch = { call, answer, upstream };
    this.#watches.add(watch);
    answer.flushHeaders();
    try {
      for await (const line of linesOf(reply.body)) {
        if (this.#held?.matches(call)) await this.#held.release;
        if (this.#isSilent || this.#drops(JSON.parse(line) as WatchEvent, call)) continue;
        answer.write(`${line}\n`);
      }
      answer.end();
    } finally {
      this.#watches.delete(watch);
    }
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };

function toCall(request: IncomingMessage): ProxiedCall {
  const url = new URL(request.url ?? '/', 'http://proxy');
  const isCollection = /\/(pods|pipelines|livesources|leases|configmaps|nodes)$/.test(url.pathname);
  const isWatch = url.searchParams.get('watch') === 'true';
  const kind = isWatch ? 'watch' : request.method === 'GET' && isCollection ? 'list' : 'other';
  return { method: request.method ?? 'GET', path: url.pathname, query: url.searchParams, kind };
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line !== '');
  }
}
