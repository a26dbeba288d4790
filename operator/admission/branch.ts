// Branches: the pool, live sources, updates, and below an update the broods of its parent runs.
//   B1. Counts hold for a branch's whole subtree; only the tree's `#recount` writes them (A3).
//   B2. A spell of waiting begins when `waiting` leaves 0 and ends when it returns to 0; `since` is its arrival number (A2).
//   B3. A brood is the runs that one parent run mounted: they share a lender, and limits of their own (A7, A11). Runs without a parent run
//       stand in their update itself.
import { Lane } from './lane.ts';
import type { Loan } from './loan.ts';
import type { ServingRule } from './rules.ts';
import { type Load, type RunEntry, RunList } from './run.ts';
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
  readonly parent: BranchEntry | undefined;
  /** One for each need that ever occurred below; few. */
  lanes: Lane | undefined = undefined;
  readonly kind: Branch['kind'];
  /** Of a live source: the loan of the run that mounted it (A8). Of an update: the same. Of a brood: the parent run's. */
  readonly ownLoan: Loan | undefined;
  /** Runs in flight here, and runs that follow another of their component (A9). */
  readonly others: RunList;
  /** Takes no more requests, and goes when its last run has ended. */
  isRemoved = false;
  /** A limit stops the run that it is closed for; until what is declared below changes (A11). */
  isStopped = false;
  /** Slots that the rule lets it hold. */
  slotsMax = 1_000_000_000;
  /** The run that must start before others here (M3). */
  closedFor: RunEntry | undefined = undefined;
  limits: Limits | undefined = undefined;
  /** Declared by its runs in flight (A11). */
  rows = 0;
  bytes = 0;
  milliCards = 0;
  /** Executing runs that declared something. */
  loaded = 0;

  readonly number: number;
  readonly name: string;
  /** How its children are served; undefined: in order of arrival. */
  readonly rule: ServingRule | undefined;
  /** In order of opening. */
  children: Set<BranchEntry> = NO_BRANCHES;

  constructor(
    number: number,
    kind: Branch['kind'],
    name: string,
    parent?: BranchEntry,
    rule?: ServingRule,
    loan?: Loan,
  ) {
    this.number = number;
    this.kind = kind;
    this.name = name;
    this.parent = parent;
    this.rule = rule;
    this.ownLoan = loan;
    this.others = kind === 'update' || kind === 'brood' ? new RunList() : NO_RUNS;
    if (!parent) return;
    if (parent.children === NO_BRANCHES) parent.children = new Set();
    parent.children.add(this);
  }

  /** The loan that its own runs may borrow; undefined: they take slots from the pool. */
  get loan(): Loan | undefined {
    return this.ownLoan?.isOpen ? this.ownLoan : undefined;
  }

  /** Takes no more requests, and nothing below it waits, follows or is in flight. */
  get isGone(): boolean {
    const isClosing = this.isRemoved || (this.kind === 'brood' && this.ownLoan?.lender.state === 'ended');
    return isClosing && this.waiting === 0 && this.children.size === 0 && this.others.first === undefined;
  }

  /** The lane for a need, made when it first occurs. */
  laneFor(need: number): Lane {
    for (let lane = this.lanes; lane !== undefined; lane = lane.sibling) if (lane.need === need) return lane;
    const lane = new Lane(this, need);
    this.lanes = lane;
    return lane;
  }

  /** Of the children's lanes that offer somebody for an open need, the one to be served first. */
  firstLane(isOpen: readonly boolean[]): Lane | undefined {
    let first: Lane | undefined;
    for (let own = this.lanes; own !== undefined; own = own.sibling) {
      const lane = isOpen[own.need] ? own.items[0] : undefined;
      if (lane !== undefined && (first === undefined || lane.isBefore(first))) first = lane;
    }
    return first;
  }

  /** Inside an update: the oldest run that could start by an open need. */
  oldestRun(isOpen: readonly boolean[]): RunEntry | undefined {
    let oldest: RunEntry | undefined;
    for (let own = this.lanes; own !== undefined; own = own.sibling) {
      const run = isOpen[own.need] ? own.firstRun : undefined;
      if (run !== undefined && (oldest === undefined || run.number < oldest.number)) oldest = run;
    }
    return oldest;
  }

  /** Puts its lanes where they belong now. */
  settle(holdsLess = false): void {
    for (let lane = this.lanes; lane !== undefined; lane = lane.sibling) lane.settle(holdsLess);
  }

  countLoad(load: Load, inFlight: number, executing: number): void {
    this.rows += inFlight * load.rows;
    this.bytes += inFlight * load.bytes;
    this.milliCards += inFlight * load.milliCards;
    this.loaded += executing;
    this.isStopped = false;
  }

  /** Its own runs that wait. */
  *waiters(): Generator<RunEntry> {
    for (let lane = this.lanes; lane !== undefined; lane = lane.sibling) yield* lane;
  }
}

const NO_BRANCHES = new Set<BranchEntry>();
const NO_RUNS = new RunList();

/** A branch and all below it, parents before children, in order of opening. */
export function* below(branch: BranchEntry): Generator<BranchEntry> {
  yield branch;
  for (const child of branch.children) yield* below(child);
}

/** For those who look without haste. */
export function lanesOf(branch: BranchEntry): Lane[] {
  const lanes: Lane[] = [];
  for (let lane = branch.lanes; lane; lane = lane.sibling) lanes.push(lane);
  return lanes;
}
