// The admission tree: decides which waiting run gets the next slot.
// Owns:   branches, counts, the order of waiting, loans, limits.
// Leaves: time (callers pass none), pods and placement (dispatch), outcomes (callers say only whether a run succeeded), persistence.
// Every call answers at once with the runs that it granted. Between calls nobody who is eligible waits (A5), which is why a request
// needs no fast path: it queues, and `#serve` finds it when a slot is free (A1).
//   A3. Only `#recount` writes counts, for every branch from the run up to the pool.
//   A4. Slots are taken only in `#start`, only while the pool holds fewer than its limit, or on a loan (A7).
//   A6. No call takes a slot from a run in flight; a lowered limit waits for runs to end.
import { BranchEntry, Brood, below, byArrival } from './branch.ts';
import { checkedLimits, checkedLoad, checkedSlots, checkedWeight, entryOf, loanOf, nameOf, runOf } from './checks.ts';
import { Components } from './components.ts';
import { costOf } from './cost.ts';
import { invariant } from './invariant.ts';
import { type Lane, needOf, type RunLane } from './lane.ts';
import { isHolding, OVERTAKES_MAX, owe, stopperOf } from './limits.ts';
import type { Loan } from './loan.ts';
import { Rooms } from './rooms.ts';
import { fewestHeldFirst, type ServingRule } from './rules.ts';
import { NO_LOAD, RunEntry } from './run.ts';
import type {
  Branch,
  Limits,
  Released,
  Removed,
  Requested,
  RequestOptions,
  Run,
  SourceOptions,
  TreeOptions,
} from './types.ts';

export class AdmissionTree {
  readonly rule: ServingRule;
  readonly #pool: BranchEntry;
  readonly #rooms: Rooms;
  readonly #components = new Components();
  readonly #costOf: (branch: BranchEntry) => number;
  #slots: number;
  #branches = 0;
  /** Numbers of arrivals and of grants, drawn from one sequence so that rules can compare them. */
  #sequence = 0;
  /** Whether any limit was ever set: without, nobody is asked. */
  #isLimited = false;
  /** Branches that hold for a run (M3). */
  readonly #holding = new Set<BranchEntry>();
  readonly #needs: number[] = [];

  constructor(options: TreeOptions) {
    this.rule = options.rule ?? fewestHeldFirst;
    this.#slots = checkedSlots(options.slots);
    this.#rooms = new Rooms(options.rooms ?? {});
    this.#costOf = costOf(options.cost ?? 'slots', options, () => this.#slots);
    this.#pool = this.#open('pool', 'pool', undefined);
    if (options.limits) this.#limit(this.#pool, options.limits);
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
  openSource(parent: Branch, name: string, options: SourceOptions = {}): Branch {
    const above = entryOf(parent);
    invariant(above.kind === 'pool' || above.kind === 'source', `a live source cannot stand under ${nameOf(above)}`);
    const source = this.#open('source', name, above);
    source.weight = checkedWeight(options.weight ?? 1);
    if (options.mountedBy) source.mounter = loanOf(runOf(options.mountedBy));
    if (options.limits) this.#limit(source, options.limits);
    return source;
  }

  /** Opens an update of the Pipeline (under the pool) or of a live source. */
  openUpdate(parent: Branch, name: string): Branch {
    const above = entryOf(parent);
    invariant(above.kind === 'pool' || above.kind === 'source', `an update cannot stand under ${nameOf(above)}`);
    return this.#open('update', name, above);
  }

  /**
   * Takes a branch out of the tree. What waits or follows below it is withdrawn; what is in flight keeps its slot and its place in the
   * counts until it is released. A finished update is removed in the same way.
   */
  remove(branch: Branch): Removed {
    const top = entryOf(branch);
    invariant(top.kind === 'source' || top.kind === 'update', `${nameOf(top)} cannot be removed`);
    const withdrawn: RunEntry[] = [];
    for (const entry of [...below(top)]) {
      entry.isRemoved = true;
      if (entry instanceof Brood) withdrawn.push(...entry.waiters(), ...entry.followers);
    }
    withdrawn.sort((a, b) => a.number - b.number);
    for (const run of withdrawn) this.#withdraw(run);
    for (const entry of [...below(top)].reverse()) this.#prune(entry);
    return { withdrawn, granted: this.#serve() };
  }

  // ---- settings that may change while runs are in flight ------------------------------------------------------------

  setSlots(slots: number): readonly Run[] {
    this.#slots = checkedSlots(slots);
    return this.#serve();
  }

  /** Runs that a class of runner can execute at once (A12). Lowering it takes nothing from running runs. */
  setRoom(runnerClass: string, size: number): readonly Run[] {
    invariant(
      Number.isSafeInteger(size) && size >= 0,
      `room of class ${runnerClass} must be a whole number, got ${size}`,
    );
    this.#rooms.resize(runnerClass, size);
    for (const branch of this.#holding) this.#refresh(branch);
    return this.#serve();
  }

  /** Decides the next freed slot already, for the backlog too (F70). */
  setWeight(source: Branch, weight: number): void {
    const entry = entryOf(source);
    invariant(entry.kind === 'source', `only a live source has a weight, ${nameOf(entry)} has none`);
    entry.weight = checkedWeight(weight);
    this.#refresh(entry);
  }

  /** Limits of the pool or of a live source. Absent ones are lifted. */
  setLimits(branch: Branch, limits: Limits): readonly Run[] {
    this.#limit(entryOf(branch), limits);
    return this.#serve();
  }

  /** Limits of a nested iteration: of what the children of this run have in flight. */
  limitChildren(parent: Run, limits: Limits): readonly Run[] {
    const run = runOf(parent);
    this.#limit(this.#broodOf(run.brood.parent, run), limits);
    return this.#serve();
  }

  // ---- runs -------------------------------------------------------------------------------------------------------

  /** Asks for a slot. The run is granted now, or waits, or follows another run of its component. */
  request(update: Branch, options: RequestOptions = {}): Requested {
    const run = this.#newRun(entryOf(update), options);
    this.#components.join(run);
    if (this.#components.leaderOf(run)) this.#follow(run);
    else this.#queue(run);
    if (run.brood.loan) this.#pend(run.brood.loan, 1);
    return { run, granted: this.#serve() };
  }

  /** Takes a slot for a run that is known to be in flight already, above the limit if need be: a new leader rebuilds the tree so. */
  adopt(update: Branch, options: RequestOptions = {}): Run {
    const run = this.#newRun(entryOf(update), options);
    this.#components.join(run);
    this.#queue(run);
    if (run.brood.loan) this.#pend(run.brood.loan, 1);
    this.#start(run);
    return run;
  }

  /** A run in flight turned out to execute in this class: it takes room there, and none where it was counted (A12). */
  moveTo(granted: Run, runnerClass: string): readonly Run[] {
    const run = runOf(granted);
    invariant(run.state === 'granted', `run ${run.number} is ${run.state}, so it executes nowhere`);
    const room = this.#rooms.named(runnerClass);
    if (run.isExecuting) {
      run.room.used--;
      room.used++;
    }
    run.room = room;
    return this.#serve();
  }

  /** Runs of a component that wait, follow or are in flight, in order of arrival. */
  runsOf(component: string): readonly Run[] {
    return this.#components.runsOf(component);
  }

  /** Gives a granted run back. `succeeded`: followers of its version share its outcome (A9). */
  release(granted: Run, ending: 'succeeded' | 'failed'): Released {
    const run = runOf(granted);
    invariant(run.state === 'granted', `run ${run.number} is ${run.state}, so there is nothing to release`);
    this.#end(run);
    const reused = this.#settleTwins(run, ending);
    this.#prune(run.brood);
    return { granted: this.#serve(), reused };
  }

  /** Cancels a run that waits or follows. */
  withdraw(waiter: Run): readonly Run[] {
    const run = runOf(waiter);
    invariant(
      run.state === 'waiting' || run.state === 'following',
      `run ${run.number} is ${run.state}: release it instead`,
    );
    this.#withdraw(run);
    this.#prune(run.brood);
    return this.#serve();
  }

  /** The run lends to no further child: those that wait for the loan wait for the pool. A child that borrows keeps the slot. */
  closeLoan(lender: Run): readonly Run[] {
    const loan = loanOf(runOf(lender)); // also of a run that has not lent yet
    loan.isOpen = false;
    this.#pace(loan);
    return this.#serve();
  }

  // ---- serving ----------------------------------------------------------------------------------------------------

  /** A2, A5: grants until nobody who is eligible waits. Each turn starts a run or stops a branch, so it ends. */
  #serve(): readonly Run[] {
    let granted: Run[] | undefined;
    for (let run = this.#next(); run; run = this.#next()) {
      const stopper = this.#isLimited ? stopperOf(run, !run.brood.loan?.isIdle) : undefined;
      if (stopper) this.#stop(stopper, run);
      else {
        this.#start(run);
        if (granted) granted.push(run);
        else granted = [run];
      }
    }
    return granted ?? NOBODY;
  }

  /** Down the tree, at each level to the branch that the rule serves first among those with a run for an open need. */
  #next(): RunEntry | undefined {
    const held = this.#firstHeldFor();
    if (held) return held;
    const needs = this.#openNeeds();
    if (needs.length === 0) return undefined;
    let branch = this.#pool;
    while (!(branch instanceof Brood)) branch = (branch.firstLane(needs) as RunLane).branch;
    return (branch.firstLane(needs) as RunLane).first;
  }

  /** A12: what can start now. With room in its class a run can start on an idle loan, and on a slot from the pool while one is free. */
  #openNeeds(): readonly number[] {
    const needs = this.#needs;
    needs.length = 0;
    const isSlotFree = this.#pool.heldSlots < this.#slots;
    // A4: always so, but while more is held than the limit: after a take-over, or since it was lowered.
    const mayLend = this.#pool.executing < this.#slots;
    for (const room of this.#rooms.all) {
      if (!this.#rooms.hasRoom(room)) continue;
      if (isSlotFree) this.#addNeed(needOf(room, false));
      if (mayLend) this.#addNeed(needOf(room, true));
    }
    return needs;
  }

  #addNeed(need: number): void {
    const lane = this.#pool.laneThrough(need);
    if (lane && !lane.isStopped && !lane.isEmpty) this.#needs.push(need);
  }

  /** M3: runs that branches hold for go before all others, once there is room, and a slot. */
  #firstHeldFor(): RunEntry | undefined {
    for (const branch of this.#holding) {
      const run = branch.owed?.run;
      if (!run || !isHolding(branch) || !this.#rooms.hasRoom(run.room)) continue;
      const takesSlot = !run.brood.loan?.isIdle;
      if (takesSlot && this.#pool.heldSlots >= this.#slots) continue;
      if (!stopperOf(run, takesSlot)) return run;
    }
    return undefined;
  }

  /** The only place where a run gets a slot: its lender's idle loan, else one of the pool's. */
  #start(run: RunEntry): void {
    const { brood } = run;
    const loan = brood.loan?.isIdle ? brood.loan : undefined;
    if (loan) {
      loan.borrower = run;
      run.borrowed = loan;
    }
    brood.roomLane(run.room).remove(run);
    brood.granted.push(run);
    run.state = 'granted';
    run.room = this.#rooms.choose(run.room);
    run.room.used++;
    run.isExecuting = true;
    this.#sequence++;
    this.#recount(run, -1, loan ? 0 : 1, 1, 1);
    if (this.#isLimited) this.#settleOwed(run);
    if (brood.loan) this.#pace(brood.loan);
    if (run.component !== undefined) this.#makeTwinsFollow(run);
  }

  #end(run: RunEntry): void {
    run.state = 'ended';
    run.brood.granted.remove(run);
    if (run.isExecuting) run.room.used--;
    if (run.borrowed && this.#pool.heldSlots > this.#slots) this.#swapSlot(run, run.borrowed);
    const ownsSlot = this.#passSlotOn(run);
    this.#recount(run, 0, ownsSlot ? -1 : 0, -1, run.isExecuting ? -1 : 0);
    run.isExecuting = false;
    if (run.loan) this.#close(run.loan);
    if (run.borrowed) this.#pace(run.borrowed);
    run.borrowed = undefined;
    if (run.brood.loan) this.#pend(run.brood.loan, -1);
  }

  /**
   * A4: while more is held than the limit, after a take-over or since it was lowered, a loan goes on to a sibling that has a slot of its own,
   * and that slot goes back; lent to one that waits, it would keep too many executing.
   */
  #swapSlot(run: RunEntry, loan: Loan): void {
    for (const sibling of run.brood.granted) {
      if (sibling === run || sibling.borrowed) continue;
      sibling.borrowed = loan;
      loan.borrower = sibling;
      run.borrowed = undefined;
      return;
    }
  }

  /** A7: what becomes of the slot when a run ends. True: it goes back to the pool. */
  #passSlotOn(run: RunEntry): boolean {
    const borrower = run.loan?.borrower;
    const lender = run.borrowed;
    if (lender) lender.borrower = borrower;
    if (borrower) {
      borrower.borrowed = lender;
      if (!lender) this.#recount(borrower, 0, 1, 0, 0);
    }
    return !lender;
  }

  /** A7: the lender ends or lends no more. Its waiting children stay in their lanes and wait for the pool. */
  #close(loan: Loan): void {
    loan.isOpen = false;
    loan.borrower = undefined;
    this.#offer(loan);
    if (!loan.brood) return;
    loan.brood.isRemoved = true;
    this.#prune(loan.brood);
  }

  // ---- loans ------------------------------------------------------------------------------------------------------

  /** L2: a child was asked for, or is over. */
  #pend(loan: Loan, change: 1 | -1): void {
    loan.pending += change;
    this.#pace(loan);
  }

  /** A12: a parent takes room in its class while it executes, not while it waits for children. */
  #pace(loan: Loan): void {
    const run = loan.lender;
    const executes = run.state === 'granted' && !loan.isWaited;
    if (executes !== run.isExecuting) {
      run.isExecuting = executes;
      run.room.used += executes ? 1 : -1;
      this.#recount(run, 0, 0, 0, executes ? 1 : -1);
    }
    this.#offer(loan);
  }

  /** L3. */
  #offer(loan: Loan): void {
    for (const room of this.#rooms.all) {
      const before = loan.offered[room.number];
      const now = loan.isIdle ? loan.firstOf(room) : undefined;
      if (now === before) continue;
      loan.offered[room.number] = now;
      if (before) this.#setOffered(before, false);
      if (now) this.#setOffered(now, true);
    }
  }

  #setOffered(lane: RunLane, isOffered: boolean): void {
    lane.offer(isOffered);
    this.#refresh(lane.brood);
  }

  // ---- waiting ----------------------------------------------------------------------------------------------------

  #newRun(update: BranchEntry, options: RequestOptions): RunEntry {
    invariant(update.kind === 'update', `a run is requested for an update, not for ${nameOf(update)}`);
    invariant(!update.isRemoved, `${nameOf(update)} was removed and takes no more requests`);
    const lender = options.lender && runOf(options.lender);
    invariant(!lender || lender.state === 'granted', 'a lender must be in flight');
    invariant(!lender || lender.brood.parent === update, 'a lender belongs to the update of its children');
    const brood = this.#broodOf(update, lender);
    return new RunEntry(++this.#sequence, brood, this.#rooms.named(options.runnerClass), checkedLoad(options), options);
  }

  #broodOf(update: BranchEntry, lender: RunEntry | undefined): Brood {
    const loan = lender && loanOf(lender);
    const known = loan ? loan.brood : update.roots;
    if (known) return known;
    const brood = new Brood(++this.#branches, update, loan ?? update.parent?.mounter);
    if (loan) loan.brood = brood;
    else update.roots = brood;
    return brood;
  }

  #queue(run: RunEntry): void {
    run.state = 'waiting';
    run.brood.roomLane(run.room).add(run);
    this.#recount(run, 1, 0, 0, 0);
  }

  #dequeue(run: RunEntry): void {
    run.brood.roomLane(run.room).remove(run);
    this.#recount(run, -1, 0, 0, 0);
    if (this.#isLimited) this.#settleOwed(run);
  }

  #withdraw(run: RunEntry): void {
    if (run.state === 'waiting') this.#dequeue(run);
    else this.#unfollow(run);
    run.state = 'ended';
    this.#components.leave(run);
    if (run.brood.loan) this.#pend(run.brood.loan, -1);
  }

  // ---- one execution of a component at a time (A9) ----------------------------------------------------------------

  #follow(run: RunEntry): void {
    run.state = 'following';
    run.brood.followers.push(run);
    this.#countFollowing(run, 1);
  }

  #unfollow(run: RunEntry): void {
    run.brood.followers.remove(run);
    this.#countFollowing(run, -1);
  }

  #makeTwinsFollow(run: RunEntry): void {
    for (const twin of this.#components.othersThan(run)) {
      if (twin.state !== 'waiting') continue;
      this.#dequeue(twin);
      this.#follow(twin);
      if (twin.brood.loan) this.#offer(twin.brood.loan);
    }
  }

  /** Followers of a version that has succeeded are served; the others wait for slots again, with their old arrival numbers. */
  #settleTwins(run: RunEntry, ending: 'succeeded' | 'failed'): readonly RunEntry[] {
    const twins = this.#components.othersThan(run);
    this.#components.leave(run);
    // A run that was taken over under another parent has a second grant for a moment: then its twins go on following that one.
    if (twins.some(({ state }) => state === 'granted')) return [];
    const reused: RunEntry[] = [];
    for (const twin of twins) {
      if (twin.state !== 'following') continue;
      if (ending === 'succeeded' && twin.version !== undefined && twin.version === run.version) {
        this.#withdraw(twin);
        this.#prune(twin.brood);
        reused.push(twin);
      } else {
        this.#unfollow(twin);
        this.#sequence++;
        this.#queue(twin);
        // Its lender's loan may be idle since the run ended, and nobody waited for it then.
        if (twin.brood.loan) this.#offer(twin.brood.loan);
      }
    }
    return reused;
  }

  #countFollowing(run: RunEntry, change: 1 | -1): void {
    for (let branch: BranchEntry | undefined = run.brood; branch; branch = branch.parent) branch.following += change;
  }

  // ---- limits (A11) -----------------------------------------------------------------------------------------------

  #limit(branch: BranchEntry, limits: Limits): void {
    branch.limits = checkedLimits(limits);
    this.#isLimited = true;
    this.#refresh(branch);
  }

  /** M2. */
  #stop(branch: BranchEntry, run: RunEntry): void {
    const { need } = run.brood.roomLane(run.room);
    (branch.laneThrough(need) as Lane).isStopped = true;
    if (!isHolding(branch)) owe(branch, run);
    for (let above: BranchEntry | undefined = branch; above; above = above.parent) above.settleLanes();
  }

  /** M3: a run started or left; those that branches on its path owe a start were overtaken, or are owed no more. */
  #settleOwed(run: RunEntry): void {
    for (let branch: BranchEntry | undefined = run.brood; branch; branch = branch.parent) {
      const { owed } = branch;
      if (!owed) continue;
      if (owed.run === run) {
        branch.owed = undefined;
        this.#holding.delete(branch);
      } else if (run.state === 'granted' && run.load !== NO_LOAD && ++owed.overtaken >= OVERTAKES_MAX)
        this.#holding.add(branch);
    }
  }

  // ---- counts -----------------------------------------------------------------------------------------------------

  /** A3: the one writer of counts, from a run's brood up to the pool; keeps the order of waiting in step with them. */
  #recount(run: RunEntry, waiting: number, slots: number, inFlight: number, executing: number): void {
    const { load } = run;
    for (let branch: BranchEntry | undefined = run.brood; branch; branch = branch.parent) {
      branch.waiting += waiting;
      if (waiting > 0 && branch.waiting === 1) branch.since = this.#sequence;
      branch.heldSlots += slots;
      branch.inFlight += inFlight;
      branch.executing += executing;
      if (load !== NO_LOAD) {
        branch.loaded += executing;
        branch.rows += inFlight * load.rows;
        branch.bytes += inFlight * load.bytes;
        branch.milliCards += inFlight * load.milliCards;
      }
      if (slots > 0) branch.servedAt = this.#sequence;
      branch.held = this.#costOf(branch);
      if (this.#isLimited) branch.unstop();
      branch.settleLanes();
    }
  }

  /** The same without a change of counts: keys, limits or offers changed. */
  #refresh(from: BranchEntry): void {
    for (let branch: BranchEntry | undefined = from; branch; branch = branch.parent) {
      branch.held = this.#costOf(branch);
      branch.unstop();
      branch.settleLanes();
    }
  }

  #open(kind: Branch['kind'], name: string, parent: BranchEntry | undefined): BranchEntry {
    const order = kind === 'update' ? byArrival : this.rule.compare;
    const branch = new BranchEntry(++this.#branches, kind, name, parent, order);
    branch.slotsMax = this.rule.slotsMax?.(name) ?? branch.slotsMax;
    this.#isLimited ||= branch.slotsMax < Number.POSITIVE_INFINITY;
    return branch;
  }

  /** Lets go of branches that were removed and have come to rest. */
  #prune(from: BranchEntry): void {
    for (let branch = from; branch.parent && branch.isRemoved && branch.isIdle; branch = branch.parent)
      branch.parent.children.delete(branch);
  }
}

const NOBODY: readonly Run[] = Object.freeze([]);
