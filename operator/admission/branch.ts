// Branches (the pool, live sources, updates, and below an update the broods of its parent runs) and their lanes.
//   B1. Counts hold for a branch's whole subtree; only the tree's `#recount` writes them (A3).
//   B2. A spell of waiting begins when `waiting` leaves 0 and ends when it returns to 0; `since` is its arrival number (A2).
// A lane is the order of waiting for one need. A need is a class of runner, and whether the run could start on its parent's idle loan
// instead of a slot from the pool. Because each need has lanes of its own from the brood to the pool, passing over runs that cannot
// start now costs by the number of classes, not of runs (A12).
//   N1. A lane stands in the lane above it exactly while it has somebody to offer and no limit stops it.
//   N2. `head` is the arrival number of the first run that it offers; 0: it offers none.
import { type Direction, type Heap, move, type Placed, push, remove } from './heap.ts';
import type { Owed } from './limits.ts';
import type { Loan, Turn } from './loan.ts';
import type { Room } from './rooms.ts';
import type { Contender, ServingRule } from './rules.ts';
import { type Load, type RunEntry, RunList, RunQueue } from './run.ts';
import type { Branch, Limits } from './types.ts';

/** Number of a need. */
export function needOf(room: Room, isLoanIdle: boolean): number {
  return 2 * room.number + (isLoanIdle ? 1 : 0);
}

export class Lane implements Contender, Placed, Heap<Lane> {
  pos = -1;
  head = 0;
  readonly branch: BranchEntry;
  need: number;
  /** A limit of this branch stops its first run; undone whenever anything below the branch changes (A11). */
  isStopped = false;
  /** The lane of the branch above for the same need; undefined at the pool. */
  above: Lane | undefined;
  /** Next lane of the same branch. */
  readonly sibling: Lane | undefined;
  /** Lanes of the children that wait; none in a brood. */
  readonly items: Lane[] = [];
  /** Runs of a brood that wait; undefined in other branches. */
  readonly runs: RunQueue | undefined;
  /** Its place among the lanes that wait for its brood's loan. */
  turn: Turn | undefined = undefined;

  constructor(branch: BranchEntry, need: number) {
    this.branch = branch;
    this.need = need;
    this.above = branch.parent?.laneFor(need);
    this.sibling = branch.lanes;
    this.runs = branch.kind === 'brood' ? new RunQueue() : undefined;
  }

  get name(): string {
    return this.branch.name;
  }

  get held(): number {
    return this.branch.held;
  }

  get weight(): number {
    return this.branch.weight;
  }

  get since(): number {
    return this.branch.since;
  }

  get servedAt(): number {
    return this.branch.servedAt;
  }

  /** A2: by the rule; inside one update in order of arrival. */
  compare(a: Lane, b: Lane): number {
    const { rule } = this.branch;
    return rule ? rule.compare(a, b) : a.head - b.head;
  }

  /** Brings N2, and N1 above, up to date. */
  settle(direction: Direction): void {
    this.head = this.runs ? (this.runs.head?.number ?? 0) : (this.items[0]?.head ?? 0);
    const { above } = this;
    if (!above) return;
    if (this.head === 0 || this.isStopped) {
      if (this.pos >= 0) remove<Lane>(above, this);
    } else if (this.pos < 0) push<Lane>(above, this);
    else move<Lane>(above, this, direction);
  }

  /** Moves it to the lanes of another need. The caller settles it, and those above its old place. */
  become(need: number): void {
    if (this.pos >= 0) remove<Lane>(this.above as Lane, this);
    this.need = need;
    this.above = this.branch.parent?.laneFor(need);
  }
}

export class BranchEntry implements Branch {
  waiting = 0;
  /** Slots that its runs own. A loan counts where its slot was taken, so it counts once (A7). */
  heldSlots = 0;
  /** What rules compare: the slots, or what the tree's cost makes of the counts (A11). */
  held = 0;
  since = 0;
  servedAt = 0;
  weight = 1;
  /** One for each need that ever occurred below; few. */
  lanes: Lane | undefined = undefined;
  readonly parent: BranchEntry | undefined;
  /** How its children are served; undefined: in order of arrival. */
  readonly rule: ServingRule | undefined;
  inFlight = 0;
  executing = 0;
  /** Declared by its runs in flight (A11). */
  rows = 0;
  bytes = 0;
  milliCards = 0;
  /** Executing runs that declared something. */
  loaded = 0;
  limits: Limits | undefined = undefined;
  /** Slots that the rule lets it hold. */
  slotsMax = Number.MAX_SAFE_INTEGER;
  /** The run that its limits have stopped for longest. */
  owed: Owed | undefined = undefined;

  readonly number: number;
  readonly kind: Branch['kind'];
  readonly name: string;
  /** In order of opening. */
  readonly children = new Set<BranchEntry>();
  /** Brood of an update's runs that have no parent run. */
  roots: Brood | undefined = undefined;
  /** Loan of the run that mounted this live source: the root runs of its updates borrow it (A8). */
  mounter: Loan | undefined = undefined;
  /** Takes no more requests, and goes when its last run has ended. */
  isRemoved = false;

  constructor(number: number, kind: Branch['kind'], name: string, parent?: BranchEntry, rule?: ServingRule) {
    this.number = number;
    this.kind = kind;
    this.name = name;
    this.parent = parent;
    this.rule = rule;
    parent?.children.add(this);
  }

  /** Takes no more requests, and nothing below it waits, follows or is in flight. */
  get isGone(): boolean {
    return this.isRemoved && this.children.size === 0;
  }

  /** The lane for a need, made when it first occurs. */
  laneFor(need: number): Lane {
    for (let lane = this.lanes; lane; lane = lane.sibling) if (lane.need === need) return lane;
    this.lanes = new Lane(this, need);
    return this.lanes;
  }

  /** The child's lane to be served first, of all that offer runs for open needs. A need that is stopped here is closed below. */
  firstLane(isOpen: boolean[]): Lane | undefined {
    let best: Lane | undefined;
    for (let lane = this.lanes; lane; lane = lane.sibling) {
      if (lane.isStopped) isOpen[lane.need] = false;
      if (!isOpen[lane.need]) continue;
      const first = lane.items[0];
      if (first && (!best || lane.compare(first, best) < 0)) best = first;
    }
    return best;
  }

  /** Puts each of its lanes where it belongs now. */
  settle(direction: Direction): void {
    for (let lane = this.lanes; lane; lane = lane.sibling) lane.settle(direction);
  }

  countLoad(load: Load, inFlight: number, executing: number): void {
    this.rows += inFlight * load.rows;
    this.bytes += inFlight * load.bytes;
    this.milliCards += inFlight * load.milliCards;
    this.loaded += executing;
  }

  /** Something below changed, so that another run may come first, or the first one may fit now. */
  unstop(): void {
    for (let lane = this.lanes; lane; lane = lane.sibling) lane.isStopped = false;
  }
}

/** The runs of an update that one parent run mounted, or that have no parent: they share a lender, and limits of their own (A7, A11). */
export class Brood extends BranchEntry {
  readonly update: BranchEntry;
  readonly granted = new RunList();
  readonly followers = new RunList();
  readonly #loan: Loan | undefined;

  constructor(number: number, update: BranchEntry, loan: Loan | undefined) {
    super(number, 'brood', update.name, update);
    this.update = update;
    this.#loan = loan;
  }

  /** Loan that its runs may borrow; undefined: they take slots from the pool. */
  get loan(): Loan | undefined {
    return this.#loan?.isOpen ? this.#loan : undefined;
  }

  override get isGone(): boolean {
    const isOrphaned = this !== this.update.roots && this.#loan?.lender.state === 'ended';
    return (isOrphaned || this.update.isRemoved) && this.waiting === 0 && !this.granted.first && !this.followers.first;
  }

  /** The lane of a class, whatever its need is now. */
  laneOf(room: Room): Lane {
    for (let lane = this.lanes; lane; lane = lane.sibling) if (lane.need >> 1 === room.number) return lane;
    return this.laneFor(needOf(room, false));
  }

  /** Its lane with the oldest run, of all that offer runs for open needs. */
  override firstLane(isOpen: boolean[]): Lane | undefined {
    let best: Lane | undefined;
    for (let lane = this.lanes; lane; lane = lane.sibling)
      if (isOpen[lane.need] && !lane.isStopped && lane.head > 0 && (!best || lane.head < best.head)) best = lane;
    return best;
  }

  /** Runs that wait, and those that follow; slow. */
  waiters(): readonly RunEntry[] {
    const runs = [...this.followers];
    for (let lane = this.lanes; lane; lane = lane.sibling) runs.push(...(lane.runs as RunQueue).sorted());
    return runs;
  }
}

/**
 * A2: down from the pool, at each level to the branch that is served first among those with a run for an open need.
 * Where only one need is open, the first lanes lead straight to the run.
 */
export function firstRun(pool: BranchEntry, isOpen: boolean[]): RunEntry | undefined {
  let lane: Lane | undefined;
  let isOnly = true;
  for (let open = pool.lanes; open; open = open.sibling) {
    if (open.isStopped) isOpen[open.need] = false;
    if (!isOpen[open.need] || open.head === 0) continue;
    isOnly = lane === undefined;
    lane = open;
  }
  if (!isOnly) lane = pool.firstLane(isOpen);
  while (lane && !lane.runs) lane = isOnly ? lane.items[0] : lane.branch.firstLane(isOpen);
  if (lane && !isOnly) lane = lane.branch.firstLane(isOpen);
  return lane?.runs?.head;
}

/** A branch and all below it, parents before children, in order of opening. */
export function* below(branch: BranchEntry): Generator<BranchEntry> {
  yield branch;
  for (const child of branch.children) yield* below(child);
}
