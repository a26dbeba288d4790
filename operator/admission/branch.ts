// Branches: the pool, live sources, updates, and below an update the broods of its parent runs.
//   B1. Counts hold for a branch's whole subtree; only the tree's `#recount` writes them (A3).
//   B2. A spell of waiting begins when `waiting` leaves 0 and ends when it returns to 0; `since` is its arrival number (A2).
//   B3. A brood is the runs that one parent run mounted: they share a lender (A7). It is an update within an update, and served with it in
//       order of arrival. Runs without a parent run stand in their update itself.
import { Lane } from './lane.ts';
import type { Loan } from './loan.ts';
import { fifo, type ServingRule } from './rules.ts';
import { type RunEntry, RunList } from './run.ts';
import type { Branch, Limits } from './types.ts';

export class BranchEntry implements Branch {
  waiting = 0;
  /** Slots that its runs own. A loan counts where its slot was taken, so it counts once (A7). */
  heldSlots = 0;
  /** What rules compare: the slots, or what the tree's cost makes of the counts (A11). */
  held = 0;
  since = 0;
  servedAt = 0;
  weight = 1;
  /** A limit stops the run that it is closed for, until what is in flight below changes (M2). */
  isStopped = false;
  /** Takes no more requests, and goes when its last run has ended. */
  isRemoved = false;
  readonly parent: BranchEntry | undefined;
  /** The first of a chain: one for each need that ever occurred below; few. */
  lane: Lane | undefined = undefined;
  /** The order of what is below it. */
  readonly rule: ServingRule;
  readonly kind: Branch['kind'];
  readonly number: number;
  readonly name: string;
  /** The loan that its own runs may borrow: of a brood its parent run's; of a live source and its updates that of the run that mounted it (A8). */
  loan: Loan | undefined;
  /** In order of opening. */
  readonly children = new Set<BranchEntry>();
  /** Runs in flight here, and runs that follow another of their component (A9). */
  readonly others = new RunList();
  limits: Limits | undefined = undefined;
  /** Slots of the pool that the rule lets it hold. */
  slotsMax = Number.POSITIVE_INFINITY;
  /** The run that must start before others here (M3). */
  closedFor: RunEntry | undefined = undefined;
  /** Declared by its runs in flight (A11). */
  rows = 0;
  bytes = 0;
  milliCards = 0;
  /** Runs in flight that declared something and have not mounted others (M1). */
  loaded = 0;

  constructor({ number, kind, name }: Branch, rule: ServingRule, parent?: BranchEntry, loan?: Loan) {
    this.number = number;
    this.kind = kind;
    this.name = name;
    this.parent = parent;
    this.rule = kind === 'update' ? fifo : rule;
    this.loan = loan;
    parent?.children.add(this);
    loan?.branches.add(this);
  }

  /** The loan that its own runs could start on now. */
  get idleLoan(): Loan | undefined {
    return this.loan?.borrower === undefined ? this.loan : undefined;
  }

  get isBrood(): boolean {
    return this.parent?.kind === 'update';
  }

  /** Takes no more requests, and nothing below it waits, follows or is in flight. */
  get isGone(): boolean {
    const isClosing = this.isRemoved || (this.isBrood && this.loan === undefined);
    return isClosing && this.waiting === 0 && this.children.size === 0 && this.others.first === undefined;
  }

  /** Made when the need first occurs. */
  laneFor(need: number): Lane {
    for (let lane = this.lane; lane !== undefined; lane = lane.next) if (lane.need === need) return lane;
    return new Lane(this, need);
  }

  /**
   * A2: down from here, at each level to the branch that is served first among those with a run for an open need. What waits in one update
   * is served in order of arrival.
   */
  first(isOpen: readonly boolean[]): RunEntry | undefined {
    let first: Lane | undefined;
    for (let own = this.lane; own !== undefined; own = own.next) {
      if (!isOpen[own.need] || !own.isOffering) continue;
      const lane = this.kind === 'update' ? own : own.items[0]!;
      if (first === undefined || this.rule.compare(lane, first) < 0) first = lane;
    }
    return this.kind === 'update' ? first?.first : first?.branch.first(isOpen);
  }

  /** Lets in nobody but this run, and not even that before something in flight changes (M2, M3); undefined: everybody. */
  closeFor(run: RunEntry | undefined): void {
    this.closedFor = run;
    this.isStopped = run !== undefined;
    for (let lane = this.lane; lane !== undefined; lane = lane.next) lane.settleUp();
  }

  /** For those who look without haste. */
  get lanes(): Lane[] {
    const lanes: Lane[] = [];
    for (let lane = this.lane; lane !== undefined; lane = lane.next) lanes.push(lane);
    return lanes;
  }

  /** Its own runs that wait. */
  get waiters(): RunEntry[] {
    return this.lanes.flatMap(({ isLoan, queue }) => (isLoan ? [] : [...queue]));
  }
}

/** A branch and all below it, parents before children, in order of opening. */
export function* below(branch: BranchEntry): Generator<BranchEntry> {
  yield branch;
  for (const child of branch.children) yield* below(child);
}
