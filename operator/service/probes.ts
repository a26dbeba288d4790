// Probes: `/startedz` once the caches are filled or only a person can make it so, `/readyz` while they are, `/livez` while the event loop turns
// and a leader's lease is fresh. None of them asks the API server: an outage there must not restart operators.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ProbeState {
  /** Why this process takes no part yet; undefined: it does. `isStuck`: until somebody acts, so that a restart is of no use. */
  readonly whyNotReady: () => { readonly why: string; readonly isStuck: boolean } | undefined;
  /** Why this process is to be restarted; undefined: it lives. */
  readonly whyDead: () => string | undefined;
  /** Text of `/metrics`. */
  readonly metrics: () => string | Promise<string>;
}

export interface ProbeServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Answers on a port of all addresses; 0: any free one. */
export async function serveProbes(port: number, state: ProbeState): Promise<ProbeServer> {
  const server = createServer((request, answer) => {
    const say = (code: number, text: string) => void answer.writeHead(code, { 'content-type': 'text/plain' }).end(text);
    const path = new URL(request.url ?? '/', 'http://operator').pathname;
    if (path === '/startedz' || path === '/readyz') {
      const { why, isStuck } = state.whyNotReady() ?? {};
      return why === undefined || (isStuck && path === '/startedz') ? say(200, 'ok\n') : say(503, `${why}\n`);
    }
    if (path === '/livez') {
      const why = state.whyDead();
      return why === undefined ? say(200, 'ok\n') : say(503, `${why}\n`);
    }
    if (path === '/metrics')
      return void Promise.resolve(state.metrics()).then(
        (text) => say(200, text),
        () => say(500, 'the metrics could not be made\n'),
      );
    return say(404, 'there are /startedz, /livez, /readyz and /metrics\n');
  });
  await listen(server, port);
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
