// A small API server over real HTTP, for injecting faults that a real one will not produce on demand. It keeps to what the
// contract suite (`kube-contract.ts`) proves against a real API server: versions, conflicts, paged lists, watches, 410.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Stored {
  apiVersion?: string;
  kind?: string;
  metadata: { name: string; namespace?: string; uid: string; resourceVersion: string; [key: string]: unknown };
  [key: string]: unknown;
}

interface Happened {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly path: string;
  readonly object: Stored;
}

export type Call = {
  readonly kind: 'list' | 'watch' | 'get' | 'create' | 'update' | 'patch' | 'delete';
  readonly path: string;
  readonly query: URLSearchParams;
};

/** What the server does instead of answering. `hang`: accepts and says nothing. `reset`: cuts the connection. */
export type Fault =
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly reason?: string;
      readonly retryAfterS?: number;
      readonly plain?: boolean;
    }
  | { readonly kind: 'hang' }
  | { readonly kind: 'reset' }
  | { readonly kind: 'error-event'; readonly code: number; readonly reason: string }
  | { readonly kind: 'end' };

interface OpenWatch {
  readonly path: string;
  readonly answer: ServerResponse;
}

export class KubeServer {
  readonly #server: Server;
  readonly #objects = new Map<string, Stored>();
  readonly #history: Happened[] = [];
  readonly #watches = new Set<OpenWatch>();
  readonly #faults: { readonly kind: Call['kind']; readonly fault: Fault }[] = [];
  readonly #calls: Call[] = [];
  readonly #waiting: { readonly kind: Call['kind']; readonly count: number; readonly resolve: () => void }[] = [];
  #version = 100;
  #uid = 0;
  /** Versions up to here are forgotten: watching or continuing from them is 410. */
  #compacted = 0;
  connections = 0;
  /** Requests that met the fault `hang` and whose client still waits. */
  hung = 0;

  constructor() {
    this.#server = createServer((request, answer) => void this.#answer(request, answer));
    this.#server.on('connection', () => this.connections++);
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The next call of this kind meets the fault. */
  breakNext(kind: Call['kind'], fault: Fault): void {
    this.#faults.push({ kind, fault });
  }

  calls(kind: Call['kind']): Call[] {
    return this.#calls.filter((call) => call.kind === kind);
  }

  /** Resolves when `count` calls of a kind have arrived since the start. */
  seen(kind: Call['kind'], count: number): Promise<void> {
    if (this.calls(kind).length >= count) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ kind, count, resolve }));
  }

  /** Forgets history: what is older than now is 410. */
  compact(): void {
    this.#compacted = this.#version;
    this.#history.length = 0;
  }

  /** Changes an object without telling the watchers: a lost event. */
  put(
    path: string,
    object: { metadata: { name: string; namespace?: string }; [key: string]: unknown },
    options = { silent: false },
  ): Stored {
    const key = `${path}/${object.metadata.name}`;
    const old = this.#objects.get(key);
    const version = ++this.#version;
    const uid = old?.metadata.uid ?? `uid-${++this.#uid}`;
    const stored: Stored = { ...object, metadata: { ...object.metadata, uid, resourceVersion: String(version) } };
    this.#objects.set(key, stored);
    if (!options.silent) this.#tell({ version, type: old === undefined ? 'ADDED' : 'MODIFIED', path, object: stored });
    return stored;
  }

  remove(path: string, name: string, options = { silent: false }): void {
    const old = this.#objects.get(`${path}/${name}`);
    if (old === undefined) return;
    this.#objects.delete(`${path}/${name}`);
    const version = ++this.#version;
    const object = { ...old, metadata: { ...old.metadata, resourceVersion: String(version) } };
    if (!options.silent) this.#tell({ version, type: 'DELETED', path, object });
  }

  get(path: string, name: string): Stored | undefined {
    return this.#objects.get(`${path}/${name}`);
  }

  /** Sends a bookmark to all open watches. */
  bookmark(): void {
    const object = { metadata: { resourceVersion: String(this.#version) } };
    for (const watch of this.#watches) watch.answer.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
  }

  /** Ends all open watches, cleanly or by cutting the connection. */
  endWatches(how: 'cleanly' | 'reset'): void {
    for (const { answer } of this.#watches) how === 'cleanly' ? answer.end() : answer.destroy();
    this.#watches.clear();
  }

  #tell(event: Happened): void {
    this.#history.push(event);
    for (const watch of this.#watches) if (watch.path === event.path) writeEvent(watch.answer, event);
  }

  async #answer(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://server');
    const call = toCall(request.method ?? 'GET', url);
    const body = await readBody(request);
    this.#calls.push(call);
    for (const waiter of this.#waiting.splice(0)) {
      if (this.calls(waiter.kind).length >= waiter.count) waiter.resolve();
      else this.#waiting.push(waiter);
    }
    const at = this.#faults.findIndex(({ kind }) => kind === call.kind);
    if (at >= 0) return this.#misbehave(answer, this.#faults.splice(at, 1)[0]!.fault);
    this.#serve(call, body, answer);
  }

  #misbehave(answer: ServerResponse, fault: Fault): void {
    if (fault.kind !== 'hang') return misbehave(answer, fault);
    this.hung++;
    answer.on('close', () => this.hung--);
  }

  #serve(call: Call, body: unknown, answer: ServerResponse): void {
    if (call.kind === 'list') return this.#list(call, answer);
    if (call.kind === 'watch') return this.#watch(call, answer);
    if (call.kind === 'create') return this.#create(call.path, body as Stored, answer);
    const slash = call.path.lastIndexOf('/');
    const [path, name] = [call.path.slice(0, slash), call.path.slice(slash + 1)];
    const known = this.get(path, name);
    if (known === undefined) return sendStatus(answer, 404, 'NotFound');
    if (call.kind === 'get') return sendJson(answer, 200, known);
    if (call.kind === 'delete') {
      this.remove(path, name);
      return sendJson(answer, 200, {});
    }
    const wanted = body as Stored;
    const version = wanted.metadata?.resourceVersion;
    if (version !== undefined && version !== known.metadata.resourceVersion) return sendStatus(answer, 409, 'Conflict');
    sendJson(answer, 200, this.put(path, call.kind === 'update' ? wanted : mergePatch(known, wanted)));
  }

  #list(call: Call, answer: ServerResponse): void {
    const [at, version] = (call.query.get('continue') ?? `0/${this.#version}`).split('/').map(Number) as [
      number,
      number,
    ];
    if (version < this.#compacted) return sendStatus(answer, 410, 'Expired');
    const items = [...this.#objects]
      .filter(([key]) => key.slice(0, key.lastIndexOf('/')) === call.path)
      .map(([, object]) => object);
    const limit = Number(call.query.get('limit') ?? items.length);
    const next = at + limit;
    const metadata = {
      resourceVersion: String(version),
      ...(next < items.length && { continue: `${next}/${version}` }),
    };
    sendJson(answer, 200, { metadata, items: items.slice(at, next) });
  }

  #watch(call: Call, answer: ServerResponse): void {
    const from = Number(call.query.get('resourceVersion') ?? 0);
    answer.writeHead(200, { 'content-type': 'application/json' });
    answer.flushHeaders();
    if (from < this.#compacted) {
      answer.end(
        `${JSON.stringify({ type: 'ERROR', object: { code: 410, reason: 'Expired', message: 'too old' } })}\n`,
      );
      return;
    }
    const watch = { path: call.path, answer };
    this.#watches.add(watch);
    answer.on('close', () => this.#watches.delete(watch));
    for (const event of this.#history) if (event.path === call.path && event.version > from) writeEvent(answer, event);
  }

  #create(path: string, object: Stored, answer: ServerResponse): void {
    if (this.get(path, object.metadata.name) !== undefined) return sendStatus(answer, 409, 'AlreadyExists');
    sendJson(answer, 201, this.put(path, object));
  }
}

function toCall(method: string, url: URL): Call {
  const isCollection = /\/(pods|pipelines|livesources|leases|events|nodes)$/.test(url.pathname);
  const isWatch = url.searchParams.get('watch') === 'true';
  const kinds: Record<string, Call['kind']> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };
  const kind = kinds[method] ?? (isWatch ? 'watch' : isCollection ? 'list' : 'get');
  return { kind, path: url.pathname, query: url.searchParams };
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text === '' ? undefined : JSON.parse(text);
}

function misbehave(answer: ServerResponse, fault: Exclude<Fault, { kind: 'hang' }>): void {
  if (fault.kind === 'reset') return void answer.destroy();
  if (fault.kind === 'end') return void answer.writeHead(200).end();
  if (fault.kind === 'error-event') {
    const object = { code: fault.code, reason: fault.reason, message: fault.reason };
    return void answer.writeHead(200).end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
  }
  const headers = fault.retryAfterS === undefined ? {} : { 'retry-after': String(fault.retryAfterS) };
  if (fault.plain)
    return void answer.writeHead(fault.code, { ...headers, 'content-type': 'text/plain' }).end('Too many requests');
  sendStatus(answer, fault.code, fault.reason ?? '', headers);
}

const sendStatus = (answer: ServerResponse, code: number, reason: string, headers: Record<string, string> = {}): void =>
  sendJson(answer, code, { kind: 'Status', code, reason, message: reason || `status ${code}` }, headers);

function sendJson(answer: ServerResponse, code: number, body: unknown, headers: Record<string, string> = {}): void {
  answer.writeHead(code, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function writeEvent(answer: ServerResponse, { type, object }: Happened): void {
  answer.write(`${JSON.stringify({ type, object })}\n`);
}

/** RFC 7386, as far as the tests need it. */
function mergePatch<T extends object>(target: T, patch: object): T {
  const result = { ...target } as Record<string, unknown>;
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else if (typeof value === 'object' && !Array.isArray(value))
      result[key] = mergePatch((result[key] ?? {}) as object, value as object);
    else result[key] = value;
  }
  return result as T;
}
