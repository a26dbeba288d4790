// Lanes: who waits for one need, in the order in which they are served.
// A need is a class of runner and where the slot comes from: the pool, or the idle loan of the run's own lender (A7). Every branch has a lane
// for each need that ever occurred below it. So runs that cannot start now are passed over by the need, and never looked at one by one:
// that costs by the number of classes, not of runs (A12).
//   N1. A lane stands in the lane above it exactly while it offers somebody.
//   N2. The lanes in a lane form a binary heap by the rule, on keys that only `settle` writes. Each knows its place, so that a change costs
//       the logarithm of the branches.
import type { BranchEntry } from './branch.ts';
import type { Contender } from './rules.ts';
import { type RunEntry, RunList } from './run.ts';

export class Lane implements Contender {
  /** Index in `above.items`; −1 while it offers nobody. */
  pos = -1;
  held = 0;
  since = 0;
  weight = 1;
  servedAt = 0;
  /** Lanes of the children that offer somebody. */
  readonly items: Lane[] = [];
  readonly name: string;
  readonly branch: BranchEntry;
  /** Twice the number of the class; one more for loans. */
  readonly need: number;
  /** Another lane of the same branch. */
  readonly next: Lane | undefined;
  /** The lane of the branch above for the same need; undefined at the pool. */
  readonly above: Lane | undefined;
  /** Runs of the branch itself; the lane for loans offers those of its class. */
  readonly queue: RunList;

  constructor(branch: BranchEntry, need: number) {
    this.name = branch.name;
    this.branch = branch;
    this.need = need;
    this.queue = this.isLoan ? branch.laneFor(need - 1).queue : new RunList();
    this.above = branch.parent?.laneFor(need);
    this.next = branch.lane;
    branch.lane = this;
  }

  get isLoan(): boolean {
    return (this.need & 1) === 1;
  }

  /** The run of the branch itself that is to be served first by this need. */
  get own(): RunEntry | undefined {
    return this.isLoan && !this.branch.idleLoan ? undefined : this.queue.first;
  }

  /** The run to be served first by this need. */
  get first(): RunEntry | undefined {
    const { own } = this;
    const below = this.items[0]?.first;
    return own !== undefined && (below === undefined || own.number < below.number) ? own : below;
  }

  get head(): number {
    return this.first?.number ?? 0;
  }

  /** A branch at its share of slots still offers those who need none of the pool. */
  get isOffering(): boolean {
    const { isStopped, heldSlots, slotsMax } = this.branch;
    const isOpen = !isStopped && (heldSlots < slotsMax || this.isLoan);
    return isOpen && (this.own !== undefined || this.items.length > 0);
  }

  /** A2. */
  isBefore(other: Lane): boolean {
    return this.branch.parent!.rule.compare(this, other) < 0;
  }

  /** With all lanes above it for the same need. */
  settleUp(): void {
    for (let lane: Lane | undefined = this; lane !== undefined; lane = lane.above) lane.settle();
  }

  /** Takes its branch's keys, and stands where it belongs now in the lane above (N1, N2). */
  settle(): void {
    const { above, branch, pos } = this;
    const holdsLess = branch.held < this.held;
    this.held = branch.held;
    this.since = branch.since;
    this.weight = branch.weight;
    this.servedAt = branch.servedAt;
    if (above === undefined) return;
    const { items } = above;
    if (this.isOffering) this.#move(items, pos < 0 ? items.push(this) - 1 : pos, holdsLess);
    else if (pos >= 0) {
      const last = items.pop()!;
      this.pos = -1;
      if (last !== this) last.#move(items, pos);
    }
  }

  /** From a place in the heap to the right one. Who came to hold less can only come earlier: that saves half of the comparisons. */
  #move(items: Lane[], from: number, risesOnly = false): void {
    let pos = from;
    for (let up = (pos - 1) >> 1; pos > 0 && this.isBefore(items[up]!); up = (pos - 1) >> 1) {
      put(items, pos, items[up]!);
      pos = up;
    }
    const canFall = pos === from && !risesOnly;
    for (let down = 2 * pos + 1; canFall && down < items.length; down = 2 * pos + 1) {
      if (down + 1 < items.length && items[down + 1]!.isBefore(items[down]!)) down++;
      if (!items[down]!.isBefore(this)) break;
      put(items, pos, items[down]!);
      pos = down;
    }
    if (pos !== this.pos) put(items, pos, this);
  }
}

function put(items: Lane[], pos: number, lane: Lane): void {
  items[pos] = lane;
  lane.pos = pos;
}
