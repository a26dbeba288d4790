// What nodes offer in cards, and what pods of others hold of it (G7). Of all pods of the cluster only those that ask for an extended resource are
// kept, and of each a few numbers: the rest of them is nobody's business here.
import { type ForeignPodView, type NodeView, offeredCards } from '../reconcile/index.ts';
import { type KubeObject, NODES, PODS } from './objects.ts';
import { Reflector, type ReflectorObserver } from './reflector.ts';
import type { KubeApi } from './rest.ts';

type Quantities = Readonly<Record<string, string>>;

interface Node extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: { readonly allocatable?: Quantities };
}

interface Container {
  readonly resources?: { readonly requests?: Quantities };
}

interface ForeignPod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
  };
  /** Set by `keepPod`. */
  readonly view?: ForeignPodView;
}

export interface CardNodesOptions {
  readonly api: KubeApi;
  /** A selector that the runner pods of this installation do not match: their cards are claims already. */
  readonly othersPods: string;
  readonly changed: () => void;
  readonly observer?: ReflectorObserver;
}

/** Pods that hold what they ask for: they have a node, and have not ended. */
const ON_A_NODE = 'spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed';

export class CardNodes {
  readonly #nodes: Reflector<Node>;
  readonly #pods: Reflector<ForeignPod>;

  constructor({ api, othersPods, changed, observer }: CardNodesOptions) {
    const common = { api, onChange: changed, ...(observer && { observer }) };
    this.#nodes = new Reflector<Node>({ ...common, resource: NODES, keep: keepNode });
    const selectors = { labelSelector: othersPods, fieldSelector: ON_A_NODE };
    this.#pods = new Reflector<ForeignPod>({ ...common, ...selectors, resource: PODS, keep: keepPod });
  }

  get reflectors(): readonly [Reflector<Node>, Reflector<ForeignPod>] {
    return [this.#nodes, this.#pods];
  }

  /** Cards for Fairlead, by resource. */
  offered(resources: ReadonlySet<string>): ReadonlyMap<string, number> {
    const nodes = [...this.#nodes.store.values()].map(
      (node): NodeView => ({
        name: node.metadata.name,
        isSchedulable: node.spec?.unschedulable !== true,
        allocatable: node.status?.allocatable ?? {},
      }),
    );
    const foreign = [...this.#pods.store.values()].flatMap(({ view }) => (view === undefined ? [] : [view]));
    return offeredCards(nodes, foreign, resources);
  }
}

const isExtended = (resource: string): boolean => resource.includes('/');

function keepNode({ metadata, spec, status }: Node): Node {
  const { name, uid, resourceVersion } = metadata;
  const allocatable = Object.entries(status?.allocatable ?? {}).filter(([resource]) => isExtended(resource));
  return {
    metadata: { name, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
    spec: { unschedulable: spec?.unschedulable === true },
    status: { allocatable: Object.fromEntries(allocatable) },
  };
}

function keepPod({ metadata, spec }: ForeignPod): ForeignPod | undefined {
  const requests = requestsOf(spec);
  const { name, namespace, uid, resourceVersion } = metadata;
  if (Object.keys(requests).length === 0) return undefined;
  return {
    metadata: {
      name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
    },
    view: { nodeName: spec?.nodeName ?? '', requests },
  };
}

/** What a pod holds of extended resources: containers run beside each other, init containers before them and one by one. */
function requestsOf(spec: ForeignPod['spec']): Record<string, number> {
  const requests: Record<string, number> = {};
  for (const container of spec?.containers ?? [])
    for (const [resource, count] of cardsOf(container)) requests[resource] = (requests[resource] ?? 0) + count;
  for (const container of spec?.initContainers ?? [])
    for (const [resource, count] of cardsOf(container)) requests[resource] = Math.max(requests[resource] ?? 0, count);
  return requests;
}

const cardsOf = ({ resources }: Container): [string, number][] =>
  Object.entries(resources?.requests ?? {})
    .filter(([resource]) => isExtended(resource))
    .map(([resource, count]) => [resource, Number(count)]);
