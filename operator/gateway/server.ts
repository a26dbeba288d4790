// Streams from runners: gRPC over HTTP/2, TLS always.
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { type Frame, Outflow, RunnerLink } from '../../runner/protocol/index.ts';
import type { Gateway } from './gateway.ts';
import type { PeerIdentity } from './ports.ts';

/** Says who a stream comes from, by what its bearer token proves. Undefined: by nobody who may be here. */
export type Authenticate = (token: string) => Promise<PeerIdentity | undefined>;

export interface GatewayServerOptions {
  readonly gateway: Gateway;
  readonly authenticate: Authenticate;
  /** Certificate chain and key, PEM. */
  readonly cert: string;
  readonly key: string;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

const BEARER = 'Bearer ';
const NO_TOKEN = 'no token came: the file that a runner is given (--token) must hold one';
const WRONG_TOKEN =
  "the token is not known here: a runner's is the one that this operator wrote, or that of a service account which is bound to the runner's pod";

export interface GatewayServer {
  readonly port: number;
  /** Streams that open from now on see another certificate; those that are open go on. */
  renew(cert: string, key: string): void;
  /** What was said on streams that were let go of still leaves, if it takes no longer than `LAST_WORDS_MS`. */
  close(): Promise<void>;
}

const LAST_WORDS_MS = 500;

export async function serveGateway(options: GatewayServerOptions): Promise<GatewayServer> {
  const { gateway, authenticate, cert, key, host, port } = options;
  const handler = connectNodeAdapter({
    // Compression of small frames costs more than the frames.
    acceptCompression: [],
    routes: (router) => {
      router.service(RunnerLink, {
        connect: (frames, context) => serveStream(gateway, authenticate, frames, context),
      });
    },
  });
  const server = createSecureServer({ cert, key, minVersion: 'TLSv1.3' }, handler);
  // A runner that goes without a word, or a scan of the port, is no fault of the operator.
  server.on('sessionError', () => {});
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {});
    session.once('close', () => sessions.delete(session));
  });
  // Every connection, also one that has not said a word yet: a server ends only when all of them have ended.
  const connections = new Set<Socket>();
  server.on('connection', (connection: Socket) => {
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
  });
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    renew: (newCert, newKey) => server.setSecureContext({ cert: newCert, key: newKey, minVersion: 'TLSv1.3' }),
    close: () =>
      new Promise((resolve) => {
        const giveUp = setTimeout(() => {
          for (const connection of connections) connection.destroy();
        }, LAST_WORDS_MS);
        server.close(() => {
          clearTimeout(giveUp);
          resolve();
        });
        for (const session of sessions) session.close();
      }),
  };
}

const listen = (server: Http2SecureServer, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });

async function* serveStream(
  gateway: Gateway,
  authenticate: Authenticate,
  frames: AsyncIterable<Frame>,
  context: HandlerContext,
): AsyncGenerator<Frame> {
  const authorization = context.requestHeader.get('authorization') ?? '';
  const token = authorization.startsWith(BEARER) ? authorization.slice(BEARER.length).trim() : '';
  if (token === '') throw new ConnectError(NO_TOKEN, Code.Unauthenticated);
  const peer = await authenticate(token);
  if (peer === undefined) throw new ConnectError(WRONG_TOKEN, Code.Unauthenticated);
  const outflow = new Outflow<Frame>({
    drained: () => events.drained(),
    unread: () => events.closed('the runner does not read'),
  });
  const events = gateway.accept(peer, {
    send: (frame) => outflow.push(frame),
    get isCongested() {
      return outflow.isCongested;
    },
    close: () => outflow.end(),
  });
  const closed = (why: string) => {
    events.closed(why);
    outflow.end();
  };
  context.signal.addEventListener('abort', () => closed('the stream was aborted'));
  void readAll(frames, events.frame).then(
    () => closed('the runner closed the stream'),
    (error: unknown) => closed(error instanceof Error ? error.message : String(error)),
  );
  yield* outflow;
}

async function readAll(frames: AsyncIterable<Frame>, frame: (frame: Frame) => void): Promise<void> {
  for await (const one of frames) frame(one);
}
