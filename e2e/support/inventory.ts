// Everything that a cluster holds, by kind, namespace and name.
import { kubectl } from './programs.ts';

/** Kinds that come and go by themselves. */
const FLEETING = new Set(['events', 'events.events.k8s.io', 'componentstatuses', 'leases.coordination.k8s.io']);
const LINES = '{range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{"\\n"}{end}';

/** All objects but those whose name matches; Leases only outside of the cluster's own namespaces. */
export async function everythingBut(names: RegExp): Promise<ReadonlySet<string>> {
  const listed = (await kubectl('api-resources', '--verbs=list', '-o', 'name'))
    .split('\n')
    .filter((kind) => kind !== '');
  const kinds = listed.filter((kind) => !FLEETING.has(kind)).join(',');
  const objects = await kubectl('get', kinds, '-A', '-o', `jsonpath=${LINES}`);
  const leases = await kubectl('get', 'leases', '-A', '-o', `jsonpath=${LINES}`);
  const ours = leases.split('\n').filter((lease) => !lease.startsWith('Lease/kube-'));
  return new Set([...objects.split('\n'), ...ours].filter((object) => object !== '' && !names.test(object)));
}
