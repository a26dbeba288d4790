// The operator's API: JSON over HTTP for `fairlead top`, `why`, `updates`, `trace` and the dashboard. docs/reference/api.md lists it.
// Owns:   routes, access, bounds of what is read and sent. Leaves: what things look like (views.ts, why.ts), pages (operator/dashboard).
//   R1. Everything that is read is a GET without effect; everything that acts is a POST with the token (access.ts).
//   R2. A request is small and answered at once, or it is a stream of events (stream.ts), or a question that waits for a runner (questions.ts).
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../clock.ts';
import type { Asked } from '../host/index.ts';
import { type Access, verdictOf } from './access.ts';
import { type Action, type ActionAnswer, parseAction } from './actions.ts';
import { decoded } from './decoded.ts';
import { FreshnessHistory } from './freshness.ts';
import { questionOf, sendAnswer } from './questions.ts';
import { Stream } from './stream.ts';
import { pipelineView, updatesOf } from './views.ts';
import type { Watched } from './watched.ts';
import { whyOf } from './why.ts';

/** A page or a picture: what the dashboard is made of. */
export interface Asset {
  readonly type: string;
  /** Made or read when it is asked for, not when the program starts. */
  readonly body: () => Promise<string | Uint8Array>;
}

export interface ApiOptions {
  readonly clock: Clock;
  /** By "namespace/name"; asked anew for each answer. */
  readonly hosts: () => ReadonlyMap<string, Watched>;
  readonly access: Access;
  /** Says in one line what serves: the program and its version. */
  readonly about: string;
  /** Carries out a wish for a Pipeline. Absent: wishes are not posted here; in a cluster they are written into the objects instead. */
  readonly act?: (pipeline: string, action: Action) => ActionAnswer;
  /** The span tree of an update that is remembered. */
  readonly trace?: (pipeline: string, update: string) => object | undefined;
  /** Text of `/metrics`. */
  readonly metrics?: () => string;
  /** Runs a workload under serving rules, for the what-if page. Throws an Error for people where the workload is not one. */
  readonly simulate?: (workload: unknown) => object;
  /** Pages, by path. */
  readonly assets?: ReadonlyMap<string, Asset>;
}

export interface Api {
  /** Answers one request; for servers that somebody else opened. */
  readonly listener: (request: IncomingMessage, answer: ServerResponse) => void;
  close(): void;
}

interface Reply {
  readonly status: number;
  readonly body: object;
}

/** A body may have so many bytes: a workload of a few hundred updates. */
const BODY_MAX_BYTES = 256 * 1024;
const UPDATES_MAX = 500;

export function createApi(options: ApiOptions): Api {
  const { clock, hosts, access, assets } = options;
  const freshness = new FreshnessHistory(clock, () => hosts().values());
  freshness.start();
  const overview = () => ({ pipelines: [...hosts().values()].map((host) => pipelineView(host, clock.nowMs())) });
  const stream = new Stream(clock, overview);

  const serve = async (request: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://operator');
    const asset = assets?.get(url.pathname);
    if (asset !== undefined && request.method === 'GET') return sendAsset(answer, asset);
    const verdict = verdictOf(request, access);
    if (typeof verdict === 'object') return send(answer, { status: verdict.refused, body: { error: verdict.why } });
    if (request.method === 'POST') {
      const posted = await post(url, request, verdict === 'act');
      return 'answer' in posted ? sendAsked(answer, posted) : send(answer, posted);
    }
    if (request.method !== 'GET') return send(answer, { status: 405, body: { error: 'there are GET and POST' } });
    if (url.pathname === '/api/v1/events') {
      if (!stream.add(answer)) send(answer, { status: 503, body: { error: 'too many listen already' } });
      return;
    }
    if (url.pathname === '/metrics' && options.metrics !== undefined)
      return void answer.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(options.metrics());
    const got = get(url);
    return 'answer' in got ? sendAsked(answer, got) : send(answer, got);
  };

  const sendAsked = (answer: ServerResponse, asked: Asked): Promise<void> => {
    answer.writeHead(200, HEADERS).flushHeaders();
    return sendAnswer(answer, asked, clock);
  };

  const get = (url: URL): Reply | Asked => {
    if (url.pathname === '/api/v1') return ok({ about: options.about, takesActions: options.act !== undefined });
    if (url.pathname === '/api/v1/overview') return ok({ atMs: clock.nowMs(), ...overview() });
    const found = pipelineOf(url, hosts());
    return 'status' in found ? found : ofPipeline(found.host, found.rest, url.searchParams);
  };

  const ofPipeline = (host: Watched, rest: readonly string[], query: URLSearchParams): Reply | Asked => {
    const [what, name] = rest;
    const nowMs = clock.nowMs();
    const question = questionOf(what, query);
    if (question !== undefined) return host.ask(question);
    if (what === undefined) return ok(pipelineView(host, nowMs));
    if (what === 'why') return ok(whyOf(host, query.get('subject') ?? '', nowMs));
    if (what === 'failures') return ok({ failures: host.recent.failures });
    if (what === 'freshness') return ok({ points: freshness.of(host.name, query.get('source') ?? '') });
    if (what === 'updates' && name === undefined) return ok({ updates: updatesOf(host, nowMs).slice(0, UPDATES_MAX) });
    if (what === 'updates' && name !== undefined) return ofUpdate(host, name, nowMs);
    return notFound();
  };

  const ofUpdate = (host: Watched, name: string, nowMs: number): Reply => {
    const update = updatesOf(host, nowMs).find((one) => one.name === name);
    const trace = options.trace?.(host.name, name);
    if (update === undefined && trace === undefined)
      return { status: 404, body: { error: `${host.name} remembers no update ${name}` } };
    return ok({ ...(update !== undefined && { update }), ...(trace !== undefined && { trace }) });
  };

  const post = async (url: URL, request: IncomingMessage, mayAct: boolean): Promise<Reply | Asked> => {
    const body = await bodyOf(request);
    if (body === undefined)
      return { status: 400, body: { error: `the body must be JSON of ${BODY_MAX_BYTES} bytes at most` } };
    if (url.pathname === '/api/v1/simulate' && options.simulate !== undefined) return simulated(options.simulate, body);
    const found = pipelineOf(url, hosts());
    if ('status' in found) return found;
    const [what] = found.rest;
    if (what !== 'actions' && what !== 'repair') return notFound();
    if (options.act === undefined)
      return { status: 403, body: { error: 'in a cluster, set the annotations and fields of the objects instead' } };
    if (!mayAct) return { status: 401, body: { error: 'acting needs the token, on loopback too' } };
    if (what === 'repair') return found.host.ask({ ask: 'repair' });
    const action = parseAction(body);
    if (typeof action === 'string') return { status: 400, body: { error: action } };
    const done = options.act(found.host.name, action);
    return done.kind === 'done' ? ok({ says: done.says }) : { status: 404, body: { error: done.why } };
  };

  return {
    listener: (request, answer) => {
      serve(request, answer).catch(() => {
        if (!answer.headersSent) send(answer, { status: 500, body: { error: 'the answer could not be made' } });
        else answer.destroy();
      });
    },
    close: () => {
      freshness.stop();
      stream.close();
    },
  };
}

const ok = (body: object): Reply => ({ status: 200, body });
const notFound = (): Reply => ({
  status: 404,
  body: { error: 'there is nothing here; docs/reference/api.md lists what is' },
});

/** `/api/v1/pipelines/NAMESPACE/NAME/…`. */
function pipelineOf(
  { pathname }: URL,
  hosts: ReadonlyMap<string, Watched>,
): Reply | { readonly host: Watched; readonly rest: readonly string[] } {
  const [, api, version, kind, namespace, name, ...rest] = pathname.split('/').map(decoded);
  if (api !== 'api' || version !== 'v1' || kind !== 'pipelines') return notFound();
  const host = hosts.get(`${namespace}/${name}`);
  return host === undefined
    ? { status: 404, body: { error: `there is no Pipeline ${namespace}/${name}` } }
    : { host, rest };
}

function simulated(simulate: (workload: unknown) => object, workload: unknown): Reply {
  try {
    return ok(simulate(workload));
  } catch (error) {
    return { status: 400, body: { error: error instanceof Error ? error.message : 'the workload is not one' } };
  }
}

/** Undefined: it is too long, or not JSON. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let sizeBytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    sizeBytes += part.length;
    if (sizeBytes > BODY_MAX_BYTES) return undefined;
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

function send(answer: ServerResponse, { status, body }: Reply): void {
  answer.writeHead(status, HEADERS).end(`${JSON.stringify(body)}\n`);
}

async function sendAsset(answer: ServerResponse, { type, body }: Asset): Promise<void> {
  const content = await body();
  answer.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache', ...SAFE }).end(content);
}

/** Nothing is loaded from elsewhere, nothing is framed, nothing is guessed. */
const SAFE = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
};

const HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store', ...SAFE };

export interface ApiServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Opens the API on an address of its own; port 0: any free one. */
export async function serveApi(api: Api, host: string, port: number): Promise<ApiServer> {
  const server = createServer(api.listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => closed(server, api) };
}

function closed(server: Server, api: Api): Promise<void> {
  api.close();
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
