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
import { BranchEntry, Brood, below, firstRun, type Lane, needOf } from './branch.ts';
import { checkedLimits, checkedLoad, checkedSlots, checkedWeight, entryOf, loanOf, nameOf, runOf } from './checks.ts';
import { costOf } from './cost.ts';
import { type Explanation, explanationOf, type RunHistory } from './explain.ts';
import { EARLIER, EITHER, LATER } from './heap.ts';
import { isHolding, OVERTAKES_MAX, owe, stopperOf } from './limits.ts';
import type { Loan } from './loan.ts';
import { refuse } from './refuse.ts';
import { Rooms } from './rooms.ts';
import { fewestHeldFirst, type ServingRule } from './rules.ts';
import { type Load, NO_LOAD, RunEntry } from './run.ts';
import { snapshotOf, type TreeSnapshot } from './snapshot.ts';
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
  /** Branches that hold for a run (M3). */
  readonly #holding = new Set<BranchEntry>();
  /** By need: whether a run could start now. Written by `#next`. */
  readonly #isOpen: boolean[] = [];

  constructor(options: TreeOptions) {
    this.#rule = options.rule ?? fewestHeldFirst;
    this.#slots = checkedSlots(options.slots);
    this.#rooms = new Rooms(options.rooms ?? {});
    this.#costOf = costOf(options.cost ?? 'slots', options, () => this.#slots);
    this.#pool = new BranchEntry(0, 'pool', 'pool', undefined, this.#rule);
    if (options.limits) this.#limit(this.#pool, options.limits);
  }

  /** Runs that execute now: those in flight less the parents that wait (A4). */
  get executing(): number {
    return this.#pool.executing;
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
    const source = this.#open('source', name, entryOf(parent));
    source.weight = checkedWeight(options.weight ?? 1);
    if (options.mountedBy) source.mounter = loanOf(runOf(options.mountedBy));
    if (options.limits) this.#limit(source, options.limits);
    return source;
  }

  /** Opens an update of the Pipeline (under the pool) or of a live source. */
  openUpdate(parent: Branch, name: string): Branch {
    return this.#open('update', name, entryOf(parent));
  }

  /**
   * Takes a branch out of the tree, such as a finished update. What waits or follows below it is withdrawn; what is in flight keeps its
   * slot, and its place in the counts, until it is released.
   */
  remove(branch: Branch): Removed {
    const top = entryOf(branch);
    if (top === this.#pool) refuse('the pool cannot be removed');
    const withdrawn: RunEntry[] = [];
    const branches = [...below(top)];
    for (const entry of branches) {
      entry.isRemoved = true;
      if (entry instanceof Brood) withdrawn.push(...entry.waiters());
    }
    withdrawn.sort((a, b) => a.number - b.number);
    for (const run of withdrawn) this.#withdraw(run);
    for (const entry of branches.reverse()) this.#prune(entry);
    return { withdrawn, granted: this.#serve() };
  }

  // ---- settings that may change while runs are in flight ------------------------------------------------------------

  setSlots(slots: number): readonly Run[] {
    this.#slots = checkedSlots(slots);
    if (this.#costOf) for (const branch of [...below(this.#pool)].reverse()) this.#resettle(branch);
    return this.#serve();
  }

  /** Runs that a class of runner can execute at once (A12). */
  setRoom(runnerClass: string, size: number): readonly Run[] {
    this.#rooms.resize(runnerClass, size);
    for (const branch of this.#holding) this.#resettle(branch);
    return this.#serve();
  }

  /** Decides the next freed slot already, for the backlog too (F70). */
  setWeight(source: Branch, weight: number): void {
    const entry = entryOf(source);
    if (entry.kind !== 'source') refuse(`only a live source has a weight, not ${nameOf(entry)}`);
    entry.weight = checkedWeight(weight);
    this.#resettle(entry);
  }

  /** Limits of the pool or of a live source; absent ones are lifted. */
  setLimits(branch: Branch, limits: Limits): readonly Run[] {
    this.#limit(entryOf(branch), limits);
    return this.#serve();
  }

  /** Limits of a nested iteration: of what the children of this run have in flight. */
  limitChildren(parent: Run, limits: Limits): readonly Run[] {
    const run = runOf(parent);
    this.#limit(this.#broodOf(run.brood.update, run), limits);
    return this.#serve();
  }

  // ---- runs -------------------------------------------------------------------------------------------------------

  /** Asks for a slot. The run is granted now, or waits, or follows another run of its component. */
  request(update: Branch, options: RequestOptions = {}): Requested {
    const run = this.#newRun(entryOf(update), options);
    if (this.#leaderOf(run)) this.#follow(run);
    else this.#queue(run);
    return { run, granted: this.#serve() };
  }

  /** Takes a slot, above the limit if need be, for a run that is in flight already: so a new leader rebuilds the tree. Parents first. */
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
  release(granted: Run, ending: 'succeeded' | 'failed'): Released {
    const run = runOf(granted);
    if (run.state !== 'granted') refuse(`run ${run.number} is ${run.state}: there is nothing to release`);
    this.#end(run);
    const reused = run.component === undefined ? NOBODY : this.#settleTwins(run, ending);
    this.#prune(run.brood);
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
    this.#close(loanOf(runOf(lender))); // also of a run that has not lent yet
    return this.#serve();
  }

  /** Why a run waits and who comes first; `history` gives it a time. Costs by its update's waiting runs and the branches beside its path. */
  explain(run: Run, history?: RunHistory): Explanation {
    const entry = runOf(run);
    const twins = entry.component === undefined ? [] : (this.#twins.get(entry.component) ?? []);
    const leader = twins.find(({ state }) => state === 'granted');
    return explanationOf(entry, this.#rooms, leader, this.#slots, history);
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

  /** A2, A5: grants until nobody waits who is eligible. Each turn starts a run or stops a branch, so it ends. */
  #serve(): readonly Run[] {
    let granted: Run[] | undefined;
    for (let run = this.#next(); run; run = this.#next()) {
      const stopper = this.#isLimited ? stopperOf(run) : undefined;
      if (stopper) this.#stop(stopper, run);
      else {
        this.#start(run);
        if (granted) granted.push(run);
        else granted = [run];
      }
    }
    return granted ?? NOBODY;
  }

  /** A12: with room in its class a run can start on an idle loan, and on a slot from the pool while one is free. */
  #next(): RunEntry | undefined {
    if (this.#pool.waiting === 0) return undefined;
    const isSlotFree = this.#pool.heldSlots < this.#slots;
    const mayLend = this.#pool.executing < this.#slots; // always so, but while more is held than a lowered limit (A4)
    for (const room of this.#rooms.all) {
      const hasRoom = this.#rooms.hasRoom(room);
      this.#isOpen[needOf(room, false)] = hasRoom && isSlotFree;
      this.#isOpen[needOf(room, true)] = hasRoom && mayLend;
    }
    return this.#firstHeldFor() ?? firstRun(this.#pool, this.#isOpen);
  }

  /** M3: a run that a branch holds for goes before all others, as soon as it can start. */
  #firstHeldFor(): RunEntry | undefined {
    if (this.#holding.size === 0) return undefined;
    for (const { owed } of this.#holding)
      if (owed && this.#isOpen[owed.run.lane.need] && !stopperOf(owed.run)) return owed.run;
    return undefined;
  }

  /** M2. */
  #stop(branch: BranchEntry, run: RunEntry): void {
    const lane = branch === run.brood ? run.lane : branch.laneFor(run.lane.need);
    lane.isStopped = true;
    if (!isHolding(branch)) owe(branch, run);
    for (let above: BranchEntry | undefined = branch; above; above = above.parent) above.settle(EITHER);
  }

  /** The one place where a run gets a slot: its lender's idle loan (A7), else one of the pool's. */
  #start(run: RunEntry): void {
    const { brood } = run;
    const { loan } = brood;
    if (loan?.isIdle) {
      loan.borrower = run;
      run.borrowed = loan;
    }
    run.state = 'granted';
    run.isExecuting = true;
    run.lane.runs?.remove(run);
    brood.granted.push(run);
    this.#sequence++;
    this.#recount(brood, run.load, -1, run.borrowed ? 0 : 1, 1, 1);
    loan?.lineUp(run.lane, run.room);
    run.room = this.#rooms.choose(run.room);
    run.room.used++;
    if (this.#isLimited) this.#settleOwed(run);
    if (loan) this.#pace(loan);
    if (run.component !== undefined) this.#makeTwinsFollow(run);
  }

  #end(run: RunEntry): void {
    const executing = run.isExecuting ? -1 : 0;
    run.state = 'ended';
    run.isExecuting = false;
    run.room.used += executing;
    run.brood.granted.remove(run);
    if (run.borrowed && this.#pool.heldSlots > this.#slots) this.#swapSlot(run, run.borrowed);
    this.#recount(run.brood, run.load, 0, this.#passSlotOn(run) ? -1 : 0, -1, executing);
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
      if (sibling.borrowed) continue;
      sibling.borrowed = loan;
      loan.borrower = sibling;
      run.borrowed = undefined;
      return;
    }
  }

  /** A7: a borrower keeps the slot of a parent that ends. True: the run's own slot leaves its branch. */
  #passSlotOn(run: RunEntry): boolean {
    const borrower = run.loan?.borrower;
    const lender = run.borrowed;
    if (lender) lender.borrower = borrower;
    if (borrower) {
      borrower.borrowed = lender;
      (run.loan as Loan).borrower = undefined;
      if (!lender) this.#recount(borrower.brood, NO_LOAD, 0, 1, 0, 0);
    }
    return !lender;
  }

  // ---- loans (A7, A8) ---------------------------------------------------------------------------------------------

  #close(loan: Loan): void {
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
      lender.isExecuting = executes;
      lender.room.used += executes ? 1 : -1;
      this.#recount(lender.brood, lender.load, 0, 0, 0, executes ? 1 : -1);
    }
    for (const room of this.#rooms.all) {
      const before = loan.offered[room.number];
      const now = loan.isIdle ? loan.firstOf(room) : undefined;
      if (now === before) continue;
      loan.offered[room.number] = now;
      if (before) this.#reneed(before, needOf(room, false));
      if (now) this.#reneed(now, needOf(room, true));
    }
  }

  #reneed(lane: Lane, need: number): void {
    lane.become(need);
    this.#resettle(lane.branch);
  }

  // ---- waiting ----------------------------------------------------------------------------------------------------

  #newRun(update: BranchEntry, options: RequestOptions): RunEntry {
    if (update.kind !== 'update') refuse(`a run is requested for an update, not for ${nameOf(update)}`);
    if (update.isRemoved) refuse(`${nameOf(update)} was removed and takes no more requests`);
    const lender = options.lender && runOf(options.lender);
    if (lender && lender.update !== update) refuse('a lender belongs to the update of its children');
    const room = this.#rooms.named(options.runnerClass);
    const run = new RunEntry(++this.#sequence, this.#broodOf(update, lender), room, checkedLoad(options), options);
    if (run.brood.loan) this.#pend(run.brood.loan, 1);
    if (run.component === undefined) return run;
    const twins = this.#twins.get(run.component);
    if (twins) twins.push(run);
    else this.#twins.set(run.component, [run]);
    return run;
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
    run.lane.runs?.push(run);
    this.#recount(run.brood, NO_LOAD, 1, 0, 0, 0);
    this.#lineUp(run);
  }

  #unqueue(run: RunEntry): void {
    run.lane.runs?.remove(run);
    this.#recount(run.brood, NO_LOAD, -1, 0, 0, 0);
    this.#lineUp(run);
    if (this.#isLimited) this.#settleOwed(run);
  }

  #lineUp({ brood: { loan }, lane, room }: RunEntry): void {
    if (!loan) return;
    loan.lineUp(lane, room);
    this.#pace(loan);
  }

  #withdraw(run: RunEntry): void {
    if (run.state === 'waiting') this.#unqueue(run);
    else run.brood.followers.remove(run);
    run.state = 'ended';
    if (run.component !== undefined) this.#forget(run, run.component);
    if (run.brood.loan) this.#pend(run.brood.loan, -1);
    this.#prune(run.brood);
  }

  // ---- one execution of a component at a time (A9) ----------------------------------------------------------------

  #leaderOf({ component }: RunEntry): RunEntry | undefined {
    return component === undefined ? undefined : this.#twins.get(component)?.find(({ state }) => state === 'granted');
  }

  #follow(run: RunEntry): void {
    run.state = 'following';
    run.brood.followers.push(run);
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
        twin.brood.followers.remove(twin);
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

  // ---- counts, limits, branches -------------------------------------------------------------------------------------

  /** A3: the one writer of counts, for a branch and all above it; keeps the order of waiting in step with them. */
  #recount(from: BranchEntry, load: Load, waiting: number, slots: number, inFlight: number, executing: number): void {
    const direction = slots < 0 ? EARLIER : slots > 0 ? LATER : EITHER; // R3
    for (let branch: BranchEntry | undefined = from; branch; branch = branch.parent) {
      branch.waiting += waiting;
      if (waiting > 0 && branch.waiting === 1) branch.since = this.#sequence;
      branch.heldSlots += slots;
      if (slots > 0) branch.servedAt = this.#sequence;
      branch.inFlight += inFlight;
      branch.executing += executing;
      if (load !== NO_LOAD) branch.countLoad(load, inFlight, executing);
      branch.held = this.#costOf ? this.#costOf(branch) : branch.heldSlots;
      if (this.#isLimited) branch.unstop();
      branch.settle(direction);
    }
  }

  /** Keys, limits or needs changed, and no count. */
  #resettle(from: BranchEntry): void {
    this.#recount(from, NO_LOAD, 0, 0, 0, 0);
  }

  #limit(branch: BranchEntry, limits: Limits): void {
    branch.limits = checkedLimits(limits);
    this.#isLimited = true;
    this.#resettle(branch);
  }

  /** M3: a run started or gave up; what branches on its path owe was overtaken, or is owed no more. */
  #settleOwed(run: RunEntry): void {
    for (let branch: BranchEntry | undefined = run.brood; branch; branch = branch.parent) {
      const { owed } = branch;
      if (owed?.run === run) {
        branch.owed = undefined;
        this.#holding.delete(branch);
      } else if (owed && run.state === 'granted' && run.load !== NO_LOAD && ++owed.overtaken >= OVERTAKES_MAX)
        this.#holding.add(branch);
    }
  }

  #open(kind: 'source' | 'update', name: string, parent: BranchEntry): BranchEntry {
    if (parent.kind === 'update' || parent.isRemoved) refuse(`a ${kind} cannot be opened under ${nameOf(parent)}`);
    const branch = new BranchEntry(++this.#branches, kind, name, parent, kind === 'source' ? this.#rule : undefined);
    branch.slotsMax = this.#rule.slotsMax?.(name) ?? branch.slotsMax;
    this.#isLimited ||= branch.slotsMax < Number.MAX_SAFE_INTEGER;
    return branch;
  }

  /** Lets go of branches that take no more requests and have come to rest. */
  #prune(from: BranchEntry): void {
    for (let branch = from; branch.parent && branch.isGone; branch = branch.parent)
      branch.parent.children.delete(branch);
  }
}

const NOBODY: readonly Run[] = Object.freeze([]);
