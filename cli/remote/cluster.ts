// The API of an operator in a cluster: on loopback of the leader's pod, reached through the API server as `kubectl port-forward` does.
// What only a cluster needs is loaded when one is asked: most commands ask an operator of this machine and are to start fast.

import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { KubeConfig, V1Pod } from '@kubernetes/client-node';
import { CommandError } from '../exit.ts';
import type { ApiPlace } from './place.ts';

export interface ClusterOptions {
  /** Context of the kubeconfig; absent: the current one. */
  readonly context?: string;
  /** Namespace of the operator; absent: it is looked for in all of them. */
  readonly operatorNamespace?: string;
}

export interface ForwardedPlace extends ApiPlace {
  close(): void;
}

/** The kubeconfig of this user; undefined: there is none. */
export async function kubeConfig(context: string | undefined): Promise<KubeConfig | undefined> {
  if (!mayHaveConfig()) return undefined;
  const { KubeConfig: Config } = await import('@kubernetes/client-node');
  const config = new Config();
  try {
    config.loadFromDefault();
  } catch (error) {
    const file = process.env.KUBECONFIG ?? '~/.kube/config';
    throw new CommandError(`the kubeconfig ${file} cannot be read: ${reasonOf(error)}; set KUBECONFIG to one that can`);
  }
  if (context !== undefined) {
    if (config.getContextObject(context) === null) throw new CommandError(`the kubeconfig has no context ${context}`);
    config.setCurrentContext(context);
  }
  // Without a file the library falls back to a server on localhost that nobody configured.
  const server = config.getCurrentCluster()?.server;
  return server === undefined || server === 'http://localhost:8080' ? undefined : config;
}

/** Whether the library is worth its second of loading: the places where it looks for a kubeconfig. */
function mayHaveConfig(): boolean {
  const places = [join(homedir(), '.kube', 'config'), '/var/run/secrets/kubernetes.io/serviceaccount/token'];
  return (process.env.KUBECONFIG ?? '') !== '' || places.some((path) => existsSync(path));
}

/** Opens a port of this machine that leads to the leader's API. */
export async function forward(config: KubeConfig, { operatorNamespace }: ClusterOptions): Promise<ForwardedPlace> {
  const [{ PortForward }, { API_PORT }] = await Promise.all([
    import('@kubernetes/client-node'),
    import('../../operator/settings.ts'),
  ]);
  const { name, namespace } = await leaderOf(config, operatorNamespace);
  const forwarder = new PortForward(config);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    forwarder.portForward(namespace, name, [API_PORT], socket, null, socket).catch(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => closeAll(server, sockets),
  };
}

function closeAll(server: Server, sockets: ReadonlySet<Socket>): void {
  server.close();
  for (const socket of sockets) socket.destroy();
}

async function leaderOf(config: KubeConfig, operatorNamespace: string | undefined) {
  const [{ CoreV1Api }, { LABELS }] = await Promise.all([
    import('@kubernetes/client-node'),
    import('../../crds/schema/index.ts'),
  ]);
  const core = config.makeApiClient(CoreV1Api);
  const labelSelector = `${LABELS.leader}=true`;
  let pods: V1Pod[];
  try {
    const list =
      operatorNamespace === undefined
        ? await core.listPodForAllNamespaces({ labelSelector })
        : await core.listNamespacedPod({ namespace: operatorNamespace, labelSelector });
    pods = list.items;
  } catch (error) {
    throw new CommandError(
      `the cluster does not list pods: ${reasonOf(error)}. With rights in one namespace only, name the operator's: --operator-namespace`,
    );
  }
  const leader = pods.find(({ status }) => status?.phase === 'Running') ?? pods[0];
  const { name, namespace } = leader?.metadata ?? {};
  if (name === undefined || namespace === undefined)
    throw new CommandError('no operator leads in this cluster: `fairlead doctor` looks for the reason');
  return { name, namespace };
}

/** What an API server said, without the object around it. */
export function reasonOf(error: unknown): string {
  const body = (error as { body?: unknown }).body;
  if (typeof body === 'string') {
    try {
      const { message } = JSON.parse(body) as { message?: string };
      if (message !== undefined) return message;
    } catch {
      // Not an answer of an API server; its text is below.
    }
  }
  return error instanceof Error ? error.message : String(error);
}
