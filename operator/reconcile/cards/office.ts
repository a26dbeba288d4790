// Shares out runner pods with cards among all Pipelines (G7): keeps every Pipeline's claim, and wakes those whose allowance changed.
import { allocateCards, type CardClaim } from './allocate.ts';

export interface OfficeOptions {
  /** Cards by resource; undefined: not known, so nobody is limited. */
  readonly capacity: (resources: ReadonlySet<string>) => ReadonlyMap<string, number> | undefined;
  /** Weights of namespaces. */
  readonly weights: ReadonlyMap<string, number>;
  /** Another Pipeline's allowance changed. */
  readonly wake: (pipelineKey: string) => void;
}

export class CardOffice {
  readonly #options: OfficeOptions;
  readonly #claims = new Map<string, CardClaim>();
  #allowances = new Map<string, number>();

  constructor(options: OfficeOptions) {
    this.#options = options;
  }

  /** Pods that a class may have now; undefined: as many as it wants. */
  claim(claim: CardClaim): number | undefined {
    const key = keyOf(claim);
    this.#claims.set(key, claim);
    this.#allocate(pipelineOf(claim));
    return this.#allowances.get(key);
  }

  /** A Pipeline is gone. */
  forget(namespace: string, pipeline: string): void {
    const gone = [...this.#claims].filter(([, claim]) => claim.namespace === namespace && claim.pipeline === pipeline);
    for (const [key] of gone) this.#claims.delete(key);
    if (gone.length > 0) this.#allocate(undefined);
  }

  /** Nodes came or went. */
  capacityChanged(): void {
    this.#allocate(undefined);
  }

  #allocate(asking: string | undefined): void {
    const claims = [...this.#claims.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
    const resources = new Set(claims.map(([, { resourceName }]) => resourceName));
    const capacity = this.#options.capacity(resources);
    const before = this.#allowances;
    this.#allowances = new Map();
    if (capacity === undefined) return;
    const pool = { capacity, weights: this.#options.weights };
    const pods = allocateCards(
      claims.map(([, claim]) => claim),
      pool,
    );
    const changed = new Set<string>();
    for (const [at, [key, claim]] of claims.entries()) {
      this.#allowances.set(key, pods[at] ?? 0);
      if (before.get(key) !== pods[at]) changed.add(pipelineOf(claim));
    }
    for (const pipeline of changed) if (pipeline !== asking) this.#options.wake(pipeline);
  }
}

const pipelineOf = ({ namespace, pipeline }: CardClaim): string => `${namespace}/${pipeline}`;
const keyOf = (claim: CardClaim): string => `${pipelineOf(claim)}/${claim.runnerClass}`;
