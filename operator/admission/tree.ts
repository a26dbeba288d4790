// The admission tree: decides which waiting run gets the next slot.
// Owns:   branches, counts, the order of waiting, loans, class rooms, limits.
// Leaves: time (callers pass none), pods and placement (dispatch), persistence (a new leader adopts what runs).
// Every call answers at once with the runs that it granted. Between two calls nobody waits who is eligible (A5); so a request needs no
// path of its own: it queues, and `#serve` finds it at once when a slot is free (A1).
//   A3. Only `#recount` writes counts, from a run's brood up to the pool. `audit()` counts again the slow way.
//   A4. Slots are taken only in `#start`: while the pool holds fewer than its limit, or on a loan. (`adopt` may exceed it; then nobody
//       starts until enough runs have ended.)
//   A6. No call takes a slot from a run in flight: lowered limits, rooms and weights wait for runs to end.
//   A10, A13. Nothing to do here: a delete is a run like any other, and who parks or backs off has released its run.
import { auditOf } from './audit.ts';
import { BranchEntry, below } from './branch.ts';
import { checkedLimits, checkedLoad, checkedSlots, checkedWeight, entryOf, loanOf, nameOf, runOf } from './checks.ts';
import { costOf } from './cost.ts';
import { type Explanation, explanationOf, type RunHistory } from './explain.ts';
import { type Lane, needOf } from './lane.ts';
import { isBelow, isBelowShares, stopperOf } from './limits.ts';
import type { Loan } from './loan.ts';
import { refuse } from './refuse.ts';
import { Rooms } from './rooms.ts';
import { fewestHeldFirst, type ServingRule } from './rules.ts';
import { NO_LOAD, RunEntry } from './run.ts';
import { snapshotOf, type TreeSnapshot } from './snapshot.ts';
import type * as Said from './types.ts';
import type { Branch, Limits, RequestOptions, Run } from './types.ts';

export class AdmissionTree {
  readonly #pool: BranchEntry;
  readonly #rule: ServingRule;
  readonly #rooms: Rooms;
  /** Undefined: branches are compared by slots. */
  readonly #costOf: ((branch: BranchEntry) => number) | undefined;
  #slots: number;
  #branches = 0;
  /** Arrivals and grants draw their numbers from one sequence, so that rules can compare them. */
  #sequence = 0;
  /** Runs that have not ended, by component. */
  readonly #twins = new Map<string, RunEntry[]>();
  /** Whether a limit was ever set: without, nobody is asked. */
  #isLimited = false;
  /** Branches that are closed for a run (M3). */
  readonly #closed = new Set<BranchEntry>();
  /** By need: whether a run could start now. Written by `#next`. */
  readonly #isOpen: boolean[] = [];

  constructor(options: Said.TreeOptions) {
    this.#rule = options.rule ?? fewestHeldFirst;
    this.#slots = checkedSlots(options.slots);
    this.#rooms = new Rooms(options.rooms ?? {});
    this.#pool = new BranchEntry(0, 'pool', 'pool', undefined, this.#rule);
    const { milliCards } = options;
    this.#costOf = costOf(options.cost ?? 'slots', () => ({
      slots: this.#slots,
      bytes: this.#pool.limits?.bytes,
      milliCards,
    }));
    this.#limit(this.#pool, options.limits ?? {});
  }

  /** Runs that execute now: those in flight less the parents that wait (A4). */
  get executing(): number {
    return this.#rooms.executing;
  }

  get pool(): Branch {
    return this.#pool;
  }

  /** The limit on runs that hold a slot. */
  get slots(): number {
    return this.#slots;
  }

  // ---- branches ---------------------------------------------------------------------------------------------------

  /** Opens a live source under the pool, or under the live source whose update mounted it. */
  openSource(parent: Branch, name: string, { weight = 1, limits = {}, mountedBy }: Said.SourceOptions = {}): Branch {
    checkedWeight(weight);
    const mounter = mountedBy && loanOf(runOf(mountedBy));
    const source = this.#open('source', name, entryOf(parent), mounter);
    mounter?.mounted.push(source);
    source.weight = weight;
    this.#limit(source, limits);
    return source;
  }

  /** Opens an update of the Pipeline (under the pool) or of a live source. */
  openUpdate(parent: Branch, name: string): Branch {
    const above = entryOf(parent);
    return this.#open('update', name, above, above.ownLoan);
  }

  /**
   * Takes a branch out of the tree, such as a finished update. What waits or follows below it is withdrawn; what is in flight keeps its
   * slot, and its place in the counts, until it is released.
   */
  remove(branch: Branch): Said.Removed {
    const top = entryOf(branch);
    if (top === this.#pool) refuse('the pool cannot be removed');
    const branches = [...below(top)];
    const withdrawn = branches
      .flatMap((entry) => [...entry.waiters(), ...entry.others])
      .filter(({ state }) => state !== 'granted')
      .sort((a, b) => a.number - b.number);
    for (const entry of branches) entry.isRemoved = true;
    for (const run of withdrawn) this.#withdraw(run);
    for (const entry of branches.reverse()) this.#prune(entry);
    return { withdrawn, granted: this.#serve() };
  }

  // ---- settings that may change while runs are in flight ------------------------------------------------------------

  setSlots(slots: number): readonly Run[] {
    this.#slots = checkedSlots(slots);
    this.#weighAgain();
    return this.#serve();
  }

  /** Runs that a class of runner can execute at once (A12). */
  setRoom(runnerClass: string, size: number): readonly Run[] {
    this.#rooms.resize(runnerClass, size);
    return this.#serve();
  }

  /** Decides the next freed slot already, for the backlog too (F70). */
  setWeight(source: Branch, weight: number): void {
    const entry = entryOf(source);
    if (entry.kind !== 'source') refuse(`only a live source has a weight, not ${nameOf(entry)}`);
    entry.weight = checkedWeight(weight);
    this.#settle(entry);
  }

  /** Limits of the pool or of a live source; absent ones are lifted. */
  setLimits(branch: Branch, limits: Limits): readonly Run[] {
    this.#limit(entryOf(branch), limits);
    if (branch === this.#pool) this.#weighAgain();
    return this.#serve();
  }

  /** Limits of a nested iteration: of what the children of this run have in flight. */
  limitChildren(parent: Run, limits: Limits): readonly Run[] {
    this.#limit(this.#broodOf(runOf(parent)), limits);
    return this.#serve();
  }

  // ---- runs -------------------------------------------------------------------------------------------------------

  /** Asks for a slot. The run is granted now, or waits, or follows another run of its component. */
  request(update: Branch, options: RequestOptions = {}): Said.Requested {
    const run = this.#newRun(entryOf(update), options);
    if (this.#leaderOf(run)) this.#follow(run);
    else this.#queue(run);
    return { run, granted: this.#serve() };
  }

  /**
   * Takes a slot, above the limit if need be, for a run that is in flight already: so a new leader rebuilds the tree. Parents first. Others
   * that this makes room for start with the next call.
   */
  adopt(update: Branch, options: RequestOptions = {}): Run {
    const run = this.#newRun(entryOf(update), options);
    this.#queue(run);
    this.#start(run);
    return run;
  }

  /** A run in flight turned out to execute in this class: it takes room there, and none where it was counted (A12). */
  moveTo(granted: Run, runnerClass: string): readonly Run[] {
    const run = runOf(granted);
    if (run.state !== 'granted') refuse(`run ${run.number} is ${run.state}: it executes nowhere`);
    const executing = run.isExecuting ? 1 : 0;
    run.room.used -= executing;
    run.room = this.#rooms.named(runnerClass);
    run.room.used += executing;
    return this.#serve();
  }

  /** Runs of a component that wait, follow or are in flight, in order of arrival. */
  runsOf(component: string): readonly Run[] {
    return this.#twins.get(component) ?? NOBODY;
  }

  /** Gives a granted run back. `succeeded`: its outcome also serves followers of its version (A9). */
  release(granted: Run, ending: 'succeeded' | 'failed'): Said.Released {
    const run = runOf(granted);
    if (run.state !== 'granted') refuse(`run ${run.number} is ${run.state}: there is nothing to release`);
    this.#end(run);
    const reused = run.component === undefined ? NOBODY : this.#settleTwins(run, ending);
    this.#prune(run.branch);
    return { granted: this.#serve(), reused };
  }

  /** Cancels a run that waits or follows. */
  withdraw(waiter: Run): readonly Run[] {
    const run = runOf(waiter);
    if (run.state === 'granted' || run.state === 'ended') refuse(`run ${run.number} is ${run.state}: it does not wait`);
    this.#withdraw(run);
    return this.#serve();
  }

  /** The run lends to no further child: those that wait for its loan wait for the pool. A child that borrows keeps the slot. */
  closeLoan(lender: Run): readonly Run[] {
    this.#closeLoan(loanOf(runOf(lender))); // also of a run that has not lent yet
    return this.#serve();
  }

  /** Why a run waits and who comes first; `history` gives it a time. Costs by its update's waiting runs and the branches beside its path. */
  explain(run: Run, history?: RunHistory): Explanation {
    const entry = runOf(run);
    return explanationOf(entry, this.#rooms, this.#leaderOf(entry), this.#slots, history);
  }

  /** A picture for people: cheap, and apart from what the tree does next. */
  snapshot(): TreeSnapshot {
    return snapshotOf(this.#pool, this.#slots, this.#rooms);
  }

  /** Counts again the slow way; one sentence for each thing that does not hold (A3). */
  audit(): readonly string[] {
    return auditOf(this.#pool, this.#rooms);
  }

  // ---- serving ----------------------------------------------------------------------------------------------------

  /** A5: grants until nobody waits who is eligible. Each turn starts a run or closes a branch, so it ends. */
  #serve(): readonly Run[] {
    let granted: Run[] | undefined;
    for (let run = this.#next(); run !== undefined; run = this.#next()) {
      const stopper = this.#isLimited ? stopperOf(run) : undefined;
      if (stopper !== undefined) this.#close(stopper, run);
      else {
        this.#start(run);
        if (granted === undefined) granted = [run];
        else granted.push(run);
      }
    }
    return granted ?? NOBODY;
  }

  /** A12: with room in its class a run can start on its lender's idle loan, and on a slot from the pool while one is free. */
  #next(): RunEntry | undefined {
    const isSlotFree = this.#pool.heldSlots < this.#slots;
    let isAnyOpen = false;
    for (let lane = this.#pool.lanes; lane !== undefined; lane = lane.sibling) {
      // Slots may only be lent while no more than the limit execute: always so, but after the limit was lowered (A4).
      const isOpen = lane.isLoan ? this.#rooms.executing < this.#slots : isSlotFree;
      this.#isOpen[lane.need] = isOpen && this.#rooms.hasRoom(lane.need >> 1);
      isAnyOpen ||= isOpen && lane.items.length > 0;
    }
    const first = isAnyOpen ? this.#first() : undefined;
    return first !== undefined || this.#closed.size === 0 ? first : this.#firstBesideClosed();
  }

  /** A2: down from the pool, at each level to the branch that is served first among those with a run for an open need. */
  #first(): RunEntry | undefined {
    let branch: BranchEntry | undefined = this.#pool.isStopped ? undefined : this.#pool;
    while (branch !== undefined && branch.kind !== 'update') {
      const { closedFor } = branch;
      if (closedFor !== undefined && this.#canStart(closedFor)) return closedFor; // M3
      branch = branch.firstLane(this.#isOpen)?.branch;
    }
    const run = branch?.oldestRun(this.#isOpen);
    const closedFor = this.#closed.size > 0 ? run?.branch.closedFor : undefined;
    return closedFor !== undefined && this.#canStart(closedFor) ? closedFor : run;
  }

  /** The one place where a run gets a slot: its lender's idle loan (A7), else one of the pool's. */
  #start(run: RunEntry): void {
    const { branch } = run;
    const { loan } = branch;
    if (loan?.isIdle) {
      loan.borrower = run;
      run.borrowed = loan;
    }
    run.state = 'granted';
    run.isExecuting = true;
    run.lane.remove(run);
    branch.others.add(run);
    run.room = this.#rooms.choose(run.room);
    run.room.used++;
    this.#sequence++;
    this.#recount(branch, -1, run.borrowed === undefined ? 1 : 0, run.load, 1, 1);
    if (loan !== undefined) this.#pace(loan);
    if (this.#closed.size > 0) this.#reopenFor(run);
    if (run.component !== undefined) this.#makeTwinsFollow(run);
  }

  #end(run: RunEntry): void {
    const executing = run.isExecuting ? -1 : 0;
    run.state = 'ended';
    run.isExecuting = false;
    run.room.used += executing;
    run.branch.others.remove(run);
    this.#recount(run.branch, 0, this.#passSlotOn(run) ? -1 : 0, run.load, -1, executing);
    if (run.loan !== undefined) this.#closeLoan(run.loan);
    if (run.borrowed !== undefined) this.#pace(run.borrowed);
    run.borrowed = undefined;
    if (run.branch.loan !== undefined) this.#pend(run.branch.loan, -1);
  }

  /** A7: a borrower keeps the slot of a parent that ends. True: the run's own slot leaves its branch. */
  #passSlotOn(run: RunEntry): boolean {
    const borrower = run.loan?.borrower;
    const lender = run.borrowed;
    if (lender !== undefined) lender.borrower = borrower;
    if (borrower !== undefined) {
      borrower.borrowed = lender;
      (run.loan as Loan).borrower = undefined;
      if (lender === undefined) this.#recount(borrower.branch, 0, 1);
    }
    return lender === undefined;
  }

  // ---- loans (A7, A8) ---------------------------------------------------------------------------------------------

  #closeLoan(loan: Loan): void {
    loan.isOpen = false;
    this.#pace(loan);
    if (loan.brood) this.#prune(loan.brood);
  }

  /** L2: a child was asked for, or is over. */
  #pend(loan: Loan, change: 1 | -1): void {
    loan.pending += change;
    this.#pace(loan);
  }

  /** Brings up to date whether the lender executes (A12), and which lanes are offered its slot (L3). */
  #pace(loan: Loan): void {
    const { lender } = loan;
    const executes = lender.state === 'granted' && !loan.isWaiting;
    if (executes !== lender.isExecuting) {
      const executing = executes ? 1 : -1;
      lender.isExecuting = executes;
      lender.room.used += executing;
      if (lender.load !== NO_LOAD) this.#recount(lender.branch, 0, 0, lender.load, 0, executing);
    }
    for (const room of this.#rooms.all) {
      const before = loan.offered[room.number];
      const now = loan.isIdle ? loan.firstFor(room) : undefined;
      if (now === before) continue;
      loan.offered[room.number] = now;
      if (before !== undefined) offer(before, undefined);
      if (now !== undefined) offer(now, now.branch.laneFor(now.need - 1));
    }
  }

  // ---- waiting ----------------------------------------------------------------------------------------------------

  #newRun(update: BranchEntry, options: RequestOptions): RunEntry {
    if (update.kind !== 'update') refuse(`a run is requested for an update, not for ${nameOf(update)}`);
    if (update.isRemoved) refuse(`${nameOf(update)} was removed and takes no more requests`);
    const load = checkedLoad(options);
    const lender = options.lender && runOf(options.lender);
    if (lender && lender.update !== update) refuse('a lender belongs to the update of its children');
    const branch = lender ? this.#broodOf(lender) : update;
    const room = this.#rooms.named(options.runnerClass);
    const run = new RunEntry(++this.#sequence, branch.laneFor(needOf(room, false)), room, load, options);
    if (branch.loan) this.#pend(branch.loan, 1);
    if (run.component === undefined) return run;
    const twins = this.#twins.get(run.component);
    if (twins) twins.push(run);
    else this.#twins.set(run.component, [run]);
    return run;
  }

  /** Where the children of a run stand. */
  #broodOf(lender: RunEntry): BranchEntry {
    const loan = loanOf(lender);
    loan.brood ??= new BranchEntry(++this.#branches, 'brood', lender.update.name, lender.update, undefined, loan);
    return loan.brood;
  }

  #queue(run: RunEntry): void {
    run.state = 'waiting';
    run.lane.insert(run);
    this.#recount(run.branch, 1, 0);
    if (run.branch.loan) this.#pace(run.branch.loan);
  }

  #unqueue(run: RunEntry): void {
    run.lane.remove(run);
    this.#recount(run.branch, -1, 0);
    if (run.branch.loan) this.#pace(run.branch.loan);
    if (this.#closed.size > 0) this.#reopenFor(run);
  }

  #withdraw(run: RunEntry): void {
    if (run.state === 'waiting') this.#unqueue(run);
    else run.branch.others.remove(run);
    run.state = 'ended';
    if (run.component !== undefined) this.#forget(run, run.component);
    if (run.branch.loan) this.#pend(run.branch.loan, -1);
    this.#prune(run.branch);
  }

  // ---- one execution of a component at a time (A9) ----------------------------------------------------------------

  #leaderOf({ component }: RunEntry): RunEntry | undefined {
    return component === undefined ? undefined : this.#twins.get(component)?.find(({ state }) => state === 'granted');
  }

  #follow(run: RunEntry): void {
    run.state = 'following';
    run.branch.others.add(run);
  }

  #makeTwinsFollow(run: RunEntry): void {
    for (const twin of this.#twins.get(run.component as string) ?? []) {
      if (twin.state !== 'waiting') continue;
      this.#unqueue(twin);
      this.#follow(twin);
    }
  }

  /** Followers of a version that succeeded are served; the others wait for slots again, with their old arrival numbers. */
  #settleTwins(run: RunEntry, ending: 'succeeded' | 'failed'): readonly Run[] {
    const twins = this.#forget(run, run.component as string);
    // A run that was taken over under another parent has a second grant for a moment: its twins go on following that one.
    if (twins.some(({ state }) => state === 'granted')) return NOBODY;
    const reused: RunEntry[] = [];
    for (const twin of twins) {
      if (ending === 'succeeded' && twin.version !== undefined && twin.version === run.version) {
        this.#withdraw(twin);
        reused.push(twin);
      } else {
        twin.branch.others.remove(twin);
        this.#sequence++;
        this.#queue(twin);
      }
    }
    return reused;
  }

  /** The other runs of its component. */
  #forget(run: RunEntry, component: string): readonly RunEntry[] {
    const others = (this.#twins.get(component) ?? []).filter((twin) => twin !== run);
    if (others.length > 0) this.#twins.set(component, others);
    else this.#twins.delete(component);
    return others;
  }

  // ---- limits (A11; M1 to M4 in limits.ts) ----------------------------------------------------------------------------

  #limit(branch: BranchEntry, limits: Limits): void {
    branch.limits = checkedLimits(limits);
    this.#isLimited ||= branch.limits !== undefined;
    for (let above: BranchEntry | undefined = branch; above; above = above.parent) above.isStopped = false;
    this.#settle(branch);
  }

  /** M2, M4. */
  #close(branch: BranchEntry, run: RunEntry): void {
    for (const other of [...this.#closed])
      if (isBelow(run, other) && isBelow(other.closedFor as RunEntry, branch)) this.#reopen(other);
    branch.closedFor = run;
    branch.isStopped = true;
    this.#closed.add(branch);
    for (let above: BranchEntry | undefined = branch; above; above = above.parent) above.settle();
  }

  #reopen(branch: BranchEntry): void {
    branch.closedFor = undefined;
    branch.isStopped = false;
    this.#closed.delete(branch);
    this.#settle(branch);
  }

  /** It has started, or waits no more. */
  #reopenFor(run: RunEntry): void {
    for (const branch of [...this.#closed]) if (branch.closedFor === run) this.#reopen(branch);
  }

  /** M3: whether it has all that it needs, apart from limits. */
  #canStart(run: RunEntry): boolean {
    const { lane, branch } = run;
    if (this.#isOpen[lane.need] && isBelowShares(branch)) return true;
    return lane.first === run && this.#isOpen[lane.need + 1] === true && branch.laneFor(lane.need + 1).queue === lane;
  }

  /** M3: branches whose run could not start anyway hold nobody up. */
  #firstBesideClosed(): RunEntry | undefined {
    const idle = [...this.#closed].filter(
      ({ isStopped, closedFor }) => isStopped && closedFor && !this.#canStart(closedFor),
    );
    for (const branch of idle) {
      branch.isStopped = false;
      this.#settle(branch);
    }
    return idle.length > 0 ? this.#first() : undefined;
  }

  // ---- counts and branches --------------------------------------------------------------------------------------------

  /** A3: the one writer of counts, for a branch and all above it; keeps the order of waiting in step with them. */
  #recount(from: BranchEntry, waiting: number, slots: number, load = NO_LOAD, inFlight = 0, executing = 0): void {
    for (let branch: BranchEntry | undefined = from; branch !== undefined; branch = branch.parent) {
      if (waiting > 0 && branch.waiting === 0) branch.since = this.#sequence;
      branch.waiting += waiting;
      branch.heldSlots += slots;
      if (slots > 0) branch.servedAt = this.#sequence;
      if (load !== NO_LOAD) branch.countLoad(load, inFlight, executing);
      branch.held = this.#costOf === undefined ? branch.heldSlots : this.#costOf(branch);
      branch.settle(slots < 0);
    }
  }

  /** Something else changed that decides its place, or that of a branch above. */
  #settle(from: BranchEntry): void {
    this.#recount(from, 0, 0);
  }

  /** The capacity that dominant shares are parts of has changed. */
  #weighAgain(): void {
    if (this.#costOf) for (const branch of below(this.#pool)) this.#settle(branch);
  }

  #open(kind: 'source' | 'update', name: string, parent: BranchEntry, mounter: Loan | undefined): BranchEntry {
    if (parent.kind === 'update' || parent.isRemoved) refuse(`a ${kind} cannot be opened under ${nameOf(parent)}`);
    const rule = kind === 'source' ? this.#rule : undefined;
    const branch = new BranchEntry(++this.#branches, kind, name, parent, rule, mounter);
    branch.slotsMax = this.#rule.slotsMax?.(name) ?? branch.slotsMax;
    return branch;
  }

  /** Lets go of branches that take no more requests and have come to rest. */
  #prune(from: BranchEntry): void {
    for (let branch = from; branch.parent !== undefined && branch.isGone; branch = branch.parent) {
      branch.parent.children.delete(branch);
      const mounted = branch.kind === 'source' ? (branch.ownLoan?.mounted ?? []) : [];
      if (mounted.includes(branch)) mounted.splice(mounted.indexOf(branch), 1);
    }
  }
}

const NOBODY: readonly Run[] = Object.freeze([]);

/** L3: a lane for loans offers the runs of its class, or nobody. Counts stay as they are, so only lanes of this need can move. */
function offer(lane: Lane, queue: Lane | undefined): void {
  lane.queue = queue;
  for (let up: Lane | undefined = lane; up !== undefined; up = up.above) up.settle(false);
}
