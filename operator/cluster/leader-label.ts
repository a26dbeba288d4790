// The label on the operator's own pod that makes it the endpoint of the runners' Service. It leads traffic; it is no lock.
import { LABELS } from '../../crds/schema/index.ts';
import { objectPath, PODS } from './objects.ts';
import type { KubeApi } from './rest.ts';

/** Sets or removes the leader's label. */
export async function labelAsLeader(
  api: KubeApi,
  pod: { readonly namespace: string; readonly name: string },
  isLeader: boolean,
): Promise<void> {
  await api.request({
    method: 'PATCH',
    path: objectPath(PODS, pod),
    contentType: 'application/merge-patch+json',
    body: { metadata: { labels: { [LABELS.leader]: isLeader ? 'true' : null } } },
  });
}
