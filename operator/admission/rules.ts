// Serving rules: which of the branches that wait takes what just became free.
// A rule compares contenders and knows nothing of slots or trees: the card ledger compares thousandths of a card with the same rules.
//   R1. The order is total: two different contenders never compare as equal, because arrival numbers never repeat (A2).
//   R2. A rule holds no state: equal keys give equal answers, so that a decision can be explained and replayed.

/** What a rule may look at. Amounts are whole numbers in the owner's unit: slots, bytes, thousandths of a card. */
export interface Contender {
  readonly name: string;
  /** What its subtree holds now. */
  readonly held: number;
  /** 1 unless somebody set it (A11); a whole number. */
  readonly weight: number;
  /** Arrival number at which its present spell of waiting began. */
  readonly since: number;
  /** Arrival number of its oldest run that could be served. */
  readonly head: number;
  /** Number of the last slot that its subtree took, from the same sequence as arrivals; 0: none yet. */
  readonly servedAt: number;
}

export interface ServingRule {
  readonly name: string;
  /** Negative when `a` is served before `b`. */
  compare(a: Contender, b: Contender): number;
  /** Slots that the branch of this name may hold at most; absent: only the pool bounds it. */
  slotsMax?(name: string): number | undefined;
}

/** A2, and A11 for weights: the rule that Fairlead ships with. */
export const fewestHeldFirst: ServingRule = {
  name: 'fewest-held',
  compare: (a, b) =>
    (a.weight === b.weight ? a.held - b.held : compareShares(a, b)) || // 1. whoever holds the fewest for its weight
    a.since - b.since, // 2. whoever has waited longest
};

/** First come, first served over the whole pool, whatever the tree looks like. */
export const fifo: ServingRule = {
  name: 'fifo',
  compare: (a, b) => a.head - b.head,
};

/** Turns: who begins to wait joins at the end, and so does who was served. Blind to how long a run keeps its slot. */
export const roundRobin: ServingRule = {
  name: 'round-robin',
  compare: (a, b) => Math.max(a.servedAt, a.since) - Math.max(b.servedAt, b.since),
};

/** Branches in the order of `names`; those not named come last. */
export function strictPriority(names: readonly string[]): ServingRule {
  const rank = new Map(names.map((name, index) => [name, index]));
  const rankOf = (contender: Contender): number => rank.get(contender.name) ?? names.length;
  return {
    name: 'strict-priority',
    compare: (a, b) =>
      rankOf(a) - rankOf(b) || // 1. whoever was named first
      a.since - b.since, // 2. whoever has waited longest
  };
}

/** Every named branch has slots of its own, and no others: idle ones stay idle, so this rule alone does not promise A5. */
export function fixedShare(slots: Readonly<Record<string, number>>): ServingRule {
  return {
    name: 'fixed-share',
    compare: (a, b) => a.since - b.since,
    slotsMax: (name) => (Object.hasOwn(slots, name) ? slots[name] : undefined),
  };
}

/** Compares held ÷ weight without rounding: whole parts first, then the remainders crosswise, which stay small. */
function compareShares(a: Contender, b: Contender): number {
  const restA = a.held % a.weight;
  const restB = b.held % b.weight;
  return (a.held - restA) / a.weight - (b.held - restB) / b.weight || restA * b.weight - restB * a.weight;
}
