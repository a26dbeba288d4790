// Which class of runner may have how many pods with cards (G7). Pure: claims and capacity in, allowances out.
//
//   C1. Cards go one pod at a time to the namespace that holds the fewest (divided by its weight), within it to the Pipeline that
//       holds the fewest, within that to the class that holds the fewest: water that fills the lowest vessel first.
//   C2. Among equals a pod that is there already stays, where that settles; else names decide. Either way an allocation that was
//       carried out changes at most once more by itself: pods of mixed sizes never swing to and fro.
//   C3. A claim never gets more than it wants; what it leaves goes to the others, so one Pipeline alone may use all.
//   C4. Every resource (a MIG profile is one) is its own pool. A pod whose cards do not fit is passed over and holds nobody back.

/** One class of runner with cards, and what it would like. */
export interface CardClaim {
  readonly namespace: string;
  readonly pipeline: string;
  readonly runnerClass: string;
  readonly resourceName: string;
  readonly cardsPerPod: number;
  /** Pods that its demand asks for, within its replicas. */
  readonly wantedPods: number;
  /** Pods that are there, the terminating ones included. */
  readonly heldPods: number;
}

export interface CardPool {
  /** Cards that there are for Fairlead, by resource name. */
  readonly capacity: ReadonlyMap<string, number>;
  /** Weights of namespaces; 1 where none is given. */
  readonly weights: ReadonlyMap<string, number>;
}

interface Filling {
  readonly claim: CardClaim;
  pods: number;
}

/** Pods that each claim may have, aligned with `claims`. */
export function allocateCards(claims: readonly CardClaim[], pool: CardPool): number[] {
  const keeping = allocateOnce(claims, pool);
  const again = allocateOnce(holding(claims, keeping), pool);
  return keeping.every((pods, at) => pods === again[at]) ? keeping : allocateOnce(holding(claims, []), pool); // C2
}

const holding = (claims: readonly CardClaim[], pods: readonly number[]): CardClaim[] =>
  claims.map((claim, at) => ({ ...claim, heldPods: pods[at] ?? 0 }));

function allocateOnce(claims: readonly CardClaim[], pool: CardPool): number[] {
  const fillings = claims.map((claim): Filling => ({ claim, pods: 0 }));
  for (const resourceName of new Set(claims.map((claim) => claim.resourceName))) {
    const rivals = fillings.filter(({ claim }) => claim.resourceName === resourceName);
    fill(rivals, pool.capacity.get(resourceName) ?? 0, pool.weights);
  }
  return fillings.map(({ pods }) => pods);
}

function fill(rivals: readonly Filling[], capacity: number, weights: CardPool['weights']): void {
  let free = capacity;
  for (;;) {
    const hungry = rivals.filter(({ claim, pods }) => pods < claim.wantedPods && claim.cardsPerPod <= free); // C3, C4
    const next = descend(hungry, rivals, weights);
    if (next === undefined) return;
    next.pods++;
    free -= next.claim.cardsPerPod;
  }
}

/** Names of the levels, outermost first; a name holds those above it, so it never repeats. */
const LEVELS: readonly ((claim: CardClaim) => string)[] = [
  (claim) => claim.namespace,
  (claim) => `${claim.namespace}/${claim.pipeline}`,
  (claim) => `${claim.namespace}/${claim.pipeline}/${claim.runnerClass}`,
];

/** C1: at each level to the branch that holds the fewest, among those that can take a pod. */
function descend(
  hungry: readonly Filling[],
  all: readonly Filling[],
  weights: CardPool['weights'],
): Filling | undefined {
  let candidates = hungry;
  for (const level of LEVELS) {
    const best = branches(candidates, all, level, weights).sort(fewestHeldFirst)[0];
    if (best === undefined) return undefined;
    candidates = candidates.filter(({ claim }) => level(claim) === best.name);
  }
  return candidates[0];
}

interface Branch {
  readonly name: string;
  readonly heldCards: number;
  readonly weight: number;
  /** Whether a pod that it has already is not counted yet. */
  readonly keepsPod: boolean;
}

function fewestHeldFirst(a: Branch, b: Branch): number {
  return (
    a.heldCards * b.weight - b.heldCards * a.weight || // 1. whoever holds the fewest cards, by weight
    Number(b.keepsPod) - Number(a.keepsPod) || // 2. C2: who has a pod keeps it
    (a.name < b.name ? -1 : 1) // 3. total: names never repeat
  );
}

function branches(
  candidates: readonly Filling[],
  all: readonly Filling[],
  level: (claim: CardClaim) => string,
  weights: CardPool['weights'],
): Branch[] {
  const names = new Set(candidates.map(({ claim }) => level(claim)));
  return [...names].map((name) => {
    const below = all.filter(({ claim }) => level(claim) === name);
    return {
      name,
      heldCards: below.reduce((sum, { claim, pods }) => sum + pods * claim.cardsPerPod, 0),
      weight: weights.get(name) ?? 1, // only namespaces have one
      keepsPod: candidates.some(({ claim, pods }) => level(claim) === name && pods < claim.heldPods),
    };
  });
}
