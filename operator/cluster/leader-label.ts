// The label on the operator's own pod that makes it the endpoint of the runners' Service. It leads traffic; it is no lock.
import { LABELS } from '../../crds/schema/index.ts';
import { objectPath, PODS } from './objects.ts';
import type { KubeApi } from './rest.ts';

interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** Sets the leader's label. `signal` ends with the lead: a try that came later would stand beside the next leader's label. */
export async function labelAsLeader(api: KubeApi, pod: PodName, signal: AbortSignal): Promise<void> {
  await api.request({ ...labelling(pod, 'true'), signal });
}

/**
 * Removes the label, where the API server answers at once: an operator that lost the lead writes nothing when the server is back.
 * `signal`: of the lead under which another pod loses it, which may lead again later.
 */
export async function unlabelAsLeader(api: KubeApi, pod: PodName, signal?: AbortSignal): Promise<void> {
  await api.request({ ...labelling(pod, null), tries: 1, ...(signal !== undefined && { signal }) });
}

const labelling = (pod: PodName, value: 'true' | null) =>
  ({
    method: 'PATCH',
    path: objectPath(PODS, pod),
    contentType: 'application/merge-patch+json',
    body: { metadata: { labels: { [LABELS.leader]: value } } },
  }) as const;
