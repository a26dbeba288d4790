// An operator that leads, on a real API server, for tests that play its pods and runners.
import { KubeConfig } from '@kubernetes/client-node';
import { systemClock } from '../../operator/clock.ts';
import {
  ClusterCaches,
  Connection,
  KubeApi,
  type LeaseTimes,
  type RequestObserver,
} from '../../operator/cluster/index.ts';
import { SILENT } from '../../operator/log.ts';
import { Control, type ControlOptions, Operator } from '../../operator/service/index.ts';
import { type OperatorFlags, parseSettings } from '../../operator/settings.ts';

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

export interface ApiOptions {
  readonly observer?: RequestObserver;
  /** Of back-off, uniform in [0, 1). */
  readonly random?: () => number;
}

export function apiOf(
  server: string,
  token: string,
  { observer, random = Math.random }: ApiOptions = {},
): KubeApi & { close(): Promise<void> } {
  const connection = new Connection(kubeConfigOf(server, token));
  const api = new KubeApi({
    connection,
    clock: systemClock,
    random,
    userAgent: 'fairlead-test',
    ...(observer && { observer }),
  });
  return Object.assign(api, { close: () => connection.close() });
}

export interface WholeOperatorOptions {
  /** Where it finds the API server: the server itself, or a proxy. */
  readonly url: string;
  readonly token: string;
  /** Name of its pod, which is in the namespace `fairlead`. */
  readonly name: string;
  /** Of the link; that of the probes is one more. */
  readonly port: number;
  readonly flags?: OperatorFlags;
  readonly leaseTimes?: LeaseTimes;
  readonly requests?: RequestObserver;
}

export interface WholeOperator {
  readonly made: Operator;
  /** Why its process was to end, where it was. */
  readonly ended: string[];
  /** Messages of its log. */
  readonly said: string[];
}

/** A whole operator, as its process would be but in this one; the caller starts and stops it. */
export function wholeOperator(options: WholeOperatorOptions): WholeOperator {
  const { url, token, name, port, leaseTimes, requests } = options;
  const flags = {
    service: 'localhost:7443',
    runnerImage: 'a',
    linkPort: `${port}`,
    httpPort: `${port + 1}`,
    api: 'off',
    ...options.flags,
  };
  const parsed = parseSettings(flags, { FAIRLEAD_POD_NAME: name, FAIRLEAD_POD_NAMESPACE: 'fairlead' });
  if (parsed.kind === 'refused') throw new Error(parsed.problems.join());
  const ended: string[] = [];
  const said: string[] = [];
  const say = (message: string, fields?: object) => void said.push(`${message} ${JSON.stringify(fields ?? {})}`);
  const made = new Operator({
    settings: parsed.settings,
    connection: new Connection(kubeConfigOf(url, token)),
    clock: systemClock,
    random: Math.random,
    log: { error: say, warn: say, info: say, debug: say },
    environment: {},
    version: 'test',
    ended: (why) => ended.push(why),
    ...(leaseTimes && { leaseTimes }),
    ...(requests && { requests }),
  });
  return { made, ended, said };
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
    pendingTimeoutMs: 300_000,
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
