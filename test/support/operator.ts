// An operator that leads, on a real API server, for tests that play its pods and runners.
import { KubeConfig } from '@kubernetes/client-node';
import { systemClock } from '../../operator/clock.ts';
import { ClusterCaches, Connection, KubeApi, type RequestObserver } from '../../operator/cluster/index.ts';
import { SILENT } from '../../operator/log.ts';
import { Control, type ControlOptions } from '../../operator/service/index.ts';

export const RUNNER_POD = {
  image: 'fairlead:test',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  operatorAddress: 'fairlead.fairlead.svc:7443',
  operatorCa: 'PEM',
  audience: 'fairlead',
  version: 'test',
  graceS: 30,
  inherited: [],
} as const;

export function kubeConfigOf(server: string, token: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'test', server, skipTLSVerify: true }, { name: 'test', token });
  return config;
}

export function apiOf(server: string, token: string, observer?: RequestObserver): KubeApi & { close(): Promise<void> } {
  const connection = new Connection(kubeConfigOf(server, token));
  const api = new KubeApi({
    connection,
    clock: systemClock,
    random: Math.random,
    userAgent: 'fairlead-test',
    ...(observer && { observer }),
  });
  return Object.assign(api, { close: () => connection.close() });
}

export interface TestOperator {
  readonly control: Control;
  readonly caches: ClusterCaches;
  stop(): Promise<void>;
}

/** Starts an operator as the leader. */
export async function startOperator(
  api: KubeApi,
  options: Partial<ControlOptions> & { readonly namespaces?: readonly string[] } = {},
): Promise<TestOperator> {
  const lead = new AbortController();
  let control: Control | undefined;
  const caches = new ClusterCaches({
    api,
    namespaces: options.namespaces ?? [],
    watchesNodes: options.namespaces === undefined,
    events: {
      pipeline: (key, object) => control?.pipelineChanged(key, object),
      source: (key, object) => control?.sourceChanged(key, object),
      pod: (pod) => control?.podChanged(pod),
      nodes: () => control?.nodesChanged(),
    },
  });
  caches.start();
  await caches.synced();
  control = new Control({
    api,
    caches,
    clock: systemClock,
    random: Math.random,
    log: SILENT,
    epoch: 1,
    signal: lead.signal,
    isLeading: () => !lead.signal.aborted,
    environment: {},
    finalizerTimeoutMs: 60_000,
    runnerPod: () => RUNNER_POD,
    cardBudget: new Map(),
    cardWeights: new Map(),
    instance: 'operator-test',
    statusEveryMs: 2_000,
    ...options,
  });
  control.start();
  const started = control;
  return {
    control: started,
    caches,
    stop: async () => {
      lead.abort(new Error('the test ends'));
      await started.stop();
      await caches.stop();
    },
  };
}
