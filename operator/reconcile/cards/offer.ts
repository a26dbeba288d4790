// What nodes offer to Fairlead: their allocatable cards less what other pods were given.

export interface NodeView {
  readonly name: string;
  readonly isSchedulable: boolean;
  /** Allocatable of extended resources, as the API server writes them. */
  readonly allocatable: Readonly<Record<string, string>>;
}

export interface ForeignPodView {
  readonly nodeName: string;
  /** Sums of the containers' requests. */
  readonly requests: Readonly<Record<string, number>>;
}

/** Cards for Fairlead, by resource name. Never negative: a broken card lowers allocatable while its pod runs on. */
export function offeredCards(
  nodes: readonly NodeView[],
  foreign: readonly ForeignPodView[],
  resourceNames: ReadonlySet<string>,
): Map<string, number> {
  const offered = new Map<string, number>();
  for (const resource of resourceNames) {
    let cards = 0;
    for (const node of nodes) {
      if (!node.isSchedulable) continue;
      const taken = foreign.reduce(
        (sum, pod) => (pod.nodeName === node.name ? sum + (pod.requests[resource] ?? 0) : sum),
        0,
      );
      cards += Math.max(0, wholeNumber(node.allocatable[resource]) - taken);
    }
    offered.set(resource, cards);
  }
  return offered;
}

/** Extended resources are whole numbers; anything else offers nothing. */
function wholeNumber(quantity: string | undefined): number {
  const value = Number(quantity ?? '0');
  return Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
