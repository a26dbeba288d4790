// Branches: the pool, live sources, updates, and below an update the broods of its parent runs.
//   B1. Only the tree's `#recount` writes counts, and it walks to the pool (A3).
//   B2. A spell of waiting begins when `waiting` leaves 0 and ends when it returns to 0; `since` is its arrival number (A2).
import { BranchLane, type Lane, RunLane } from './lane.ts';
import type { Owed } from './limits.ts';
import type { Loan } from './loan.ts';
import type { Room } from './rooms.ts';
import type { Contender } from './rules.ts';
import { type RunEntry, RunList } from './run.ts';
import type { Branch, Limits } from './types.ts';

export type Order = (a: Contender, b: Contender) => number;

/** Inside one update runs go in order of arrival, whatever rule the pool serves by (A2). */
export const byArrival: Order = (a, b) => a.head - b.head;

export class BranchEntry implements Branch {
  readonly number: number;
  readonly kind: Branch['kind'];
  readonly name: string;
  readonly parent: BranchEntry | undefined;
  /** In order of opening. */
  readonly children = new Set<BranchEntry>();
  /** How its children are served. */
  readonly order: Order;
  protected readonly lanes: (Lane | undefined)[] = [];

  /** Slots that its runs own; a loan counts where its slot was taken (A7). */
  heldSlots = 0;
  /** What rules compare: slots, or what the tree's cost makes of the counts below (A11). */
  held = 0;
  waiting = 0;
  following = 0;
  inFlight = 0;
  executing = 0;
  /** Declared by runs in flight. */
  rows = 0;
  bytes = 0;
  milliCards = 0;
  /** Executing runs that declared something. */
  loaded = 0;

  since = 0;
  servedAt = 0;
  weight = 1;
  limits: Limits = {};
  slotsMax = Number.POSITIVE_INFINITY;
  /** Run that its limits have stopped for longest. */
  owed: Owed | undefined = undefined;
  /** Brood of the runs of an update that have no parent run. */
  roots: Brood | undefined = undefined;
  /** Loan of the run that mounted this live source: its updates' root runs borrow it (A8). */
  mounter: Loan | undefined = undefined;
  /** Takes no more requests, and goes when its last run has ended. */
  isRemoved = false;

  constructor(number: number, kind: Branch['kind'], name: string, parent: BranchEntry | undefined, order: Order) {
    this.number = number;
    this.kind = kind;
    this.name = name;
    this.parent = parent;
    this.order = order;
    parent?.children.add(this);
  }

  /** Nothing below it waits, follows or is in flight. */
  get isIdle(): boolean {
    return this.waiting + this.following + this.inFlight === 0 && this.children.size === 0;
  }

  laneOf(need: number): BranchLane {
    this.lanes[need] ??= new BranchLane(this, need);
    return this.lanes[need] as BranchLane;
  }

  /** The child's lane to be served first among those of open needs. */
  firstLane(needs: readonly number[]): Lane | undefined {
    let best: Lane | undefined;
    for (let i = 0; i < needs.length; i++) {
      const lane = (this.lanes[needs[i] as number] as BranchLane | undefined)?.members.first;
      if (lane && (!best || this.order(lane, best) < 0)) best = lane;
    }
    return best;
  }

  /** Puts each of its lanes where it belongs among its siblings. */
  settleLanes(): void {
    for (let i = 0; i < this.lanes.length; i++) this.lanes[i]?.settle();
  }

  /** The lane through which a run of this need would leave. */
  laneThrough(need: number): Lane | undefined {
    return this.lanes[need];
  }

  /** Something below changed, so that another run may come first, or the first may fit now. */
  unstop(): void {
    for (const lane of this.lanes) if (lane) lane.isStopped = false;
  }
}

/** The runs of an update that one parent run mounted, or that have no parent: they share a lender, and limits of their own (A7, A11). */
export class Brood extends BranchEntry {
  declare readonly parent: BranchEntry;
  readonly #loan: Loan | undefined;
  readonly granted = new RunList();
  readonly followers = new RunList();

  constructor(number: number, update: BranchEntry, loan: Loan | undefined) {
    super(number, 'brood', '', update, byArrival);
    this.#loan = loan;
  }

  /** Loan that its runs may borrow; undefined: they take slots from the pool. */
  get loan(): Loan | undefined {
    return this.#loan?.isOpen ? this.#loan : undefined;
  }

  /** Runs that wait; slow. */
  waiters(): readonly RunEntry[] {
    return (this.lanes as (RunLane | undefined)[]).flatMap((lane) => (lane ? [...lane.runs()] : []));
  }

  override laneThrough(need: number): Lane | undefined {
    return this.lanes[need >> 1];
  }

  /** Its lane with the oldest run among those of open needs. */
  override firstLane(needs: readonly number[]): RunLane | undefined {
    let best: RunLane | undefined;
    for (const lane of this.lanes as (RunLane | undefined)[])
      if (lane && lane.pos >= 0 && needs.includes(lane.need) && (!best || lane.head < best.head)) best = lane;
    return best;
  }

  roomLane(room: Room): RunLane {
    this.lanes[room.number] ??= new RunLane(this, room);
    return this.lanes[room.number] as RunLane;
  }
}

/** A branch and all below it, parents before children, in order of opening. */
export function* below(branch: BranchEntry): Generator<BranchEntry> {
  yield branch;
  for (const child of branch.children) yield* below(child);
}
