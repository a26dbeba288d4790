// The operator's pods in a cluster, and the one that leads.
import type { KubeConfig, V1Pod } from '@kubernetes/client-node';
import { LABELS } from '../../crds/schema/index.ts';

export const OURS = 'app.kubernetes.io/name=fairlead';

/** The pod that leads. */
export interface Leader {
  readonly pod: string;
  readonly image: string | undefined;
  readonly restarts: number;
  /** As the API server names who acts as it. */
  readonly account: string;
}

export async function operatorPods(config: KubeConfig): Promise<V1Pod[]> {
  const { CoreV1Api } = await import('@kubernetes/client-node');
  const labelSelector = `${OURS},app.kubernetes.io/component=operator`;
  return (await config.makeApiClient(CoreV1Api).listPodForAllNamespaces({ labelSelector })).items;
}

/** Undefined: none leads. */
export async function leaderOf(config: KubeConfig, pods?: readonly V1Pod[]): Promise<Leader | undefined> {
  const all = pods ?? (await operatorPods(config));
  const found = all.find(({ metadata }) => metadata?.labels?.[LABELS.leader] === 'true');
  if (found === undefined) return undefined;
  const { name, namespace } = found.metadata ?? {};
  return {
    pod: `${namespace}/${name}`,
    image: found.spec?.containers[0]?.image,
    restarts: found.status?.containerStatuses?.[0]?.restartCount ?? 0,
    account: `system:serviceaccount:${namespace}:${found.spec?.serviceAccountName ?? 'default'}`,
  };
}
