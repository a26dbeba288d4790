// What the tests of the cluster room share: an API client on a fake server, with a clock that the test moves.
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach } from 'vitest';
import { Connection, KubeApi, type Rate, type RequestObserver } from '../../operator/cluster/index.ts';
import { KubeServer } from '../fakes/kube-server.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

export const PODS_PATH = '/api/v1/namespaces/search/pods';

export function kubeConfig(server: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'test', server, skipTLSVerify: true },
    { name: 'test', token: 'token-of-the-test' },
  );
  return config;
}

/** A fake server and clients of it; everything ends with the test. */
export function kubeWorld(): () => Promise<{
  server: KubeServer;
  clock: VirtualClock;
  api: (observer?: RequestObserver, rate?: Rate) => KubeApi;
}> {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  return async () => {
    const server = new KubeServer();
    const config = kubeConfig(await server.start());
    ends.push(() => server.stop());
    const clock = new VirtualClock();
    const api = (observer?: RequestObserver, rate?: Rate): KubeApi => {
      const connection = new Connection(config);
      ends.push(() => connection.close());
      return new KubeApi({
        connection,
        clock,
        random: () => 0.5,
        userAgent: 'fairlead-test',
        ...(observer && { observer }),
        ...(rate && { rate }),
      });
    };
    return { server, clock, api };
  };
}

export const pod = (name: string, label = 'a') => ({ metadata: { name, namespace: 'search', labels: { label } } });

/** Resolves when `condition` holds; turns of the event loop pass, no time does. Fails after very many turns. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  for (let turn = 0; turn < 100_000; turn++) {
    if (condition()) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  throw new Error(`never: ${what}`);
}
