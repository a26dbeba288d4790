// Connections to the API server. client-node knows kubeconfig files, in-cluster accounts and exec credentials; it would also open
// one TLS connection for every request, so only its authentication is used and the connections are ours, in three pools that
// never wait for each other: watches (one connection each), everyday requests, and the leader's lease.
import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { Agent } from 'undici';

export type PoolName = 'crud' | 'watch' | 'lease';

// HTTP/1.1 only: when a server says GOAWAY, HTTP/2 loses writes in flight, and nobody knows whether they were carried out.
const POOLS: Record<PoolName, Agent.Options> = {
  crud: { connections: 16, allowH2: false, keepAliveTimeout: 60_000, headersTimeout: 70_000, bodyTimeout: 70_000 },
  watch: { allowH2: false, headersTimeout: 30_000, bodyTimeout: 0 },
  lease: { connections: 1, allowH2: false, keepAliveTimeout: 60_000, headersTimeout: 10_000, bodyTimeout: 10_000 },
};

/** What one request needs: where to, with which credentials, over which connections. */
export interface Route {
  readonly origin: string;
  /** Path prefix of servers that are not at the root of their host. */
  readonly prefix: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: Agent;
}

/** Shared connections to one API server. */
export class Connection {
  readonly #config: KubeConfig;
  readonly #agents = new Map<PoolName, { readonly key: string; readonly agent: Agent }>();

  constructor(config: KubeConfig) {
    this.#config = config;
  }

  /** The way to the server now: tokens and certificate files are read again, since they rotate. */
  async route(pool: PoolName): Promise<Route> {
    const server = this.#config.getCurrentCluster()?.server;
    if (server === undefined) {
      throw new Error('no cluster is configured: set KUBECONFIG, or run inside a pod with a service account');
    }
    const options: RequestOptions = {};
    await this.#config.applyToHTTPSOptions(options);
    const url = new URL(server);
    return {
      origin: url.origin,
      prefix: url.pathname === '/' ? '' : url.pathname.replace(/\/$/, ''),
      headers: headersOf(options),
      agent: this.#agentFor(pool, server, options),
    };
  }

  /** Ends all connections; requests in flight fail. */
  async close(): Promise<void> {
    const agents = [...this.#agents.values()];
    this.#agents.clear();
    await Promise.all(agents.map(({ agent }) => agent.destroy()));
  }

  #agentFor(pool: PoolName, server: string, options: RequestOptions): Agent {
    const { ca, cert, key, servername, rejectUnauthorized } = options;
    const parts = [server, ca, cert, key, servername, rejectUnauthorized].map(String).join('\0');
    const id = createHash('sha256').update(parts).digest('base64');
    const current = this.#agents.get(pool);
    if (current?.key === id) return current.agent;
    void current?.agent.close(); // a rotated file: the old pool ends when its requests have ended
    const tls = Object.entries({ ca, cert, key, servername, rejectUnauthorized }).filter(([, v]) => v !== undefined);
    const connect = { ...Object.fromEntries(tls), keepAlive: true, keepAliveInitialDelay: 30_000, timeout: 5_000 };
    const agent = new Agent({ ...POOLS[pool], connect });
    this.#agents.set(pool, { key: id, agent });
    return agent;
  }
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name] = String(value);
  if (options.auth) headers.authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  return headers;
}

/** Connection from KUBECONFIG, the user's kubeconfig, or the pod's service account, in that order. */
export async function connect(): Promise<Connection> {
  const { KubeConfig: Config } = await import('./kubeconfig.ts');
  const config = new Config();
  config.loadFromDefault();
  return new Connection(config);
}
