// Lanes: who waits for one need, in the order in which they are served.
// A need is a class of runner and where the slot comes from: the pool, or an idle loan of the run's own lender (A7). Every branch has a lane
// for each need that ever occurred below it. So runs that cannot start now are passed over by the need, and never looked at one by one:
// that costs by the number of classes, not of runs (A12).
//   N1. A lane stands in the lane above it exactly while it offers somebody.
//   N2. The lanes in a lane form a binary heap by the rule, on keys that only `settle` writes. Each knows its place, so that a change costs
//       the logarithm of the branches.
import type { BranchEntry } from './branch.ts';
import type { Room } from './rooms.ts';
import type { Contender, ServingRule } from './rules.ts';
import { type RunEntry, RunList } from './run.ts';

/** Number of a need. */
export function needOf(room: Room, isLoan: boolean): number {
  return 2 * room.number + (isLoan ? 1 : 0);
}

export class Lane extends RunList implements Contender {
  /** Index in `above.items`; −1 while it offers nobody. */
  pos = -1;
  held = 0;
  since = 0;
  weight = 1;
  /** Lanes of the children that offer somebody. */
  items: Lane[] = NO_LANES;
  /** The lane of the branch above for the same need; undefined at the pool. */
  readonly above: Lane | undefined;
  /** What it is compared with its siblings by; undefined inside an update, where runs go in order of arrival. */
  readonly rule: ServingRule | undefined;
  /** Whose own runs it offers: its own; of a lane for loans those of its class, while the lender's idle loan is offered to them (L3). */
  queue: RunList | undefined;
  readonly need: number;
  readonly branch: BranchEntry;
  /** Next lane of the same branch. */
  readonly sibling: Lane | undefined;

  constructor(branch: BranchEntry, need: number) {
    super();
    this.branch = branch;
    this.need = need;
    this.queue = this.isLoan ? undefined : this;
    this.rule = branch.parent?.rule;
    this.above = branch.parent?.laneFor(need);
    this.sibling = branch.lanes;
  }

  get isLoan(): boolean {
    return (this.need & 1) === 1;
  }

  get servedAt(): number {
    return this.branch.servedAt;
  }

  get name(): string {
    return this.branch.name;
  }

  /** The run to be served first by this need. */
  get firstRun(): RunEntry | undefined {
    const own = this.queue?.first;
    if (this.items.length === 0) return own;
    const below = (this.items[0] as Lane).firstRun as RunEntry;
    return own !== undefined && own.number < below.number ? own : below;
  }

  /** Arrival number of the first run; 0: there is none. */
  get head(): number {
    return this.firstRun?.number ?? 0;
  }

  get isOffering(): boolean {
    if (this.items.length === 0 && this.queue?.first === undefined) return false;
    const { branch } = this;
    return !branch.isStopped && (branch.heldSlots < branch.slotsMax || this.isLoan);
  }

  /** A2. */
  isBefore(other: Lane): boolean {
    return (this.rule === undefined ? this.head - other.head : this.rule.compare(this, other)) < 0;
  }

  /**
   * Takes its branch's keys, and puts it where it belongs now in the lane above (N1, N2). Who holds less than before, and nothing else has
   * changed, can only come earlier: that saves half of the comparisons.
   */
  settle(holdsLess: boolean): void {
    const { above, branch, pos } = this;
    this.held = branch.held;
    this.since = branch.since;
    this.weight = branch.weight;
    if (above === undefined) return;
    if (!this.isOffering) {
      if (pos >= 0) this.#leave(above.items);
    } else if (pos < 0) this.#enter(above);
    else if (pos > 0 && this.isBefore(above.items[(pos - 1) >> 1] as Lane)) this.#rise(above.items, pos);
    else if (!holdsLess) this.#sink(above.items, pos);
  }

  #enter(above: Lane): void {
    if (above.items === NO_LANES) above.items = [];
    this.#rise(above.items, above.items.length);
  }

  #leave(items: Lane[]): void {
    const { pos } = this;
    const last = items.pop() as Lane;
    this.pos = -1;
    if (last === this) return;
    if (pos > 0 && last.isBefore(items[(pos - 1) >> 1] as Lane)) last.#rise(items, pos);
    else last.#sink(items, pos);
  }

  #rise(items: Lane[], from: number): void {
    let pos = from;
    while (pos > 0) {
      const parentPos = (pos - 1) >> 1;
      const parent = items[parentPos] as Lane;
      if (!this.isBefore(parent)) break;
      items[pos] = parent;
      parent.pos = pos;
      pos = parentPos;
    }
    items[pos] = this;
    this.pos = pos;
  }

  #sink(items: Lane[], from: number): void {
    const { length } = items;
    let pos = from;
    for (let child = 2 * pos + 1; child < length; child = 2 * pos + 1) {
      let least = items[child] as Lane;
      if (child + 1 < length) {
        const right = items[child + 1] as Lane;
        if (right.isBefore(least)) {
          least = right;
          child++;
        }
      }
      if (!least.isBefore(this)) break;
      items[pos] = least;
      least.pos = pos;
      pos = child;
    }
    items[pos] = this;
    this.pos = pos;
  }
}

const NO_LANES: Lane[] = [];
