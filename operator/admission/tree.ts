// The admission tree: decides which waiting run gets the next slot.
// Owns:   branches, counts, the order of waiting, loans, class rooms, limits.
// Leaves: time (callers pass none), pods and placement (dispatch), persistence (a new leader adopts what runs), and what people ask of the tree
//         (operator/inspection: snapshots, explanations, the audit).
// Every call answers at once with the runs that it granted. Between two calls nobody waits who is eligible (A5); so a request needs no
// path of its own: it queues, and `#serve` finds it at once when a slot is free (A1).
//   A3. Only `#recount` writes counts, from a run's brood up to the pool. The audit counts again the slow way.
//   A4. Slots are taken only in `#start`: while the pool holds fewer than its limit, or on a loan. (`adopt` may exceed it; then nobody
//       starts until enough runs have ended.)
//   A6. No call takes a slot from a run in flight: lowered limits, rooms and weights wait for runs to end.
//   A10, A13. Nothing to do here: a delete is a run like any other, and who parks or backs off has released its run.
import { BranchEntry, below } from './branch.ts';
import { checkedLimits, checkedLoad, checkedSlots, checkedWeight, entryOf, nameOf, refuse, runOf } from './checks.ts';
import { costOf } from './cost.ts';
import { Closings, stopperOf } from './limits.ts';
import { Loan } from './loan.ts';
import { Rooms } from './rooms.ts';
import { fewestHeldFirst, type ServingRule } from './rules.ts';
import { LOADS, type Load, RunEntry } from './run.ts';
import type * as Said from './types.ts';
import type { Branch, Limits, RequestOptions, Run, RunState, TreeOptions } from './types.ts';

export class AdmissionTree {
  readonly #pool: BranchEntry;
  readonly #rule: ServingRule;
  readonly #rooms = new Rooms();
  readonly #closings = new Closings();
  readonly #cost: Said.Cost;
  readonly #milliCards: number | undefined;
  #slots: number;
  #branches = 0;
  /** Arrivals and grants draw their numbers from one sequence, so that rules can compare them. */
  #sequence = 0;
  /** Runs that have not ended, by component. */
  readonly #twins = new Map<string, readonly RunEntry[]>();
  /** By need: whether a run could start now. Written by `#first`. */
  readonly #isOpen: boolean[] = [];

  constructor({ slots, rule = fewestHeldFirst, cost = 'slots', limits = {}, milliCards, rooms = {} }: TreeOptions) {
    this.#rule = rule;
    this.#cost = cost;
    this.#milliCards = milliCards;
    this.#slots = checkedSlots(slots);
    this.#pool = new BranchEntry({ number: 0, kind: 'pool', name: 'pool' }, rule);
    this.#pool.limits = checkedLimits(limits);
    for (const [name, size] of Object.entries(rooms)) this.#rooms.resize(name, size);
  }

  get pool(): Branch {
    return this.#pool;
  }

  /** The limit on runs that hold a slot. */
  get slots(): number {
    return this.#slots;
  }

  /** Runs that execute now: those in flight less the parents that wait (A4). */
  get executing(): number {
    return this.#rooms.executing;
  }

  /** What operator/inspection looks at. It changes nothing there. */
  get inside() {
    return { pool: this.#pool, rooms: this.#rooms, closings: this.#closings, stopperOf, runOf };
  }

  // ---- branches ---------------------------------------------------------------------------------------------------

  /** Opens a live source under the pool, or under the live source whose update mounted it. */
  openSource(parent: Branch, name: string, { weight = 1, limits = {}, mountedBy }: Said.SourceOptions = {}): Branch {
    const [checked, bounds] = [checkedWeight(weight), checkedLimits(limits)];
    const source = this.#open('source', name, entryOf(parent), mountedBy && this.#loanOf(runOf(mountedBy)));
    source.weight = checked;
    source.limits = bounds;
    return source;
  }

  /** Opens an update of the Pipeline (under the pool) or of a live source. */
  openUpdate(parent: Branch, name: string): Branch {
    return this.#open('update', name, entryOf(parent), entryOf(parent).loan);
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
      .flatMap((entry) => [...entry.waiters, ...entry.others].filter(({ state }) => state !== 'granted'))
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
    this.#recount(entry, 0, 0);
  }

  /** Limits of the pool or of a live source; absent ones are lifted. */
  setLimits(branch: Branch, limits: Limits): readonly Run[] {
    const entry = entryOf(branch);
    entry.limits = checkedLimits(limits);
    this.#recount(entry, 0, 0);
    if (entry === this.#pool) this.#weighAgain();
    return this.#serve();
  }

  // ---- runs -------------------------------------------------------------------------------------------------------

  /** Asks for a slot. The run is granted now, or waits, or follows another run of its component. */
  request(update: Branch, options: RequestOptions = {}): Said.Requested {
    const run = this.#newRun(entryOf(update), options);
    this.#become(run, this.#leaderOf(run) === undefined ? 'waiting' : 'following');
    return { run, granted: this.#serve() };
  }

  /**
   * Takes a slot, above the limit if need be, for a run that is in flight already: so a new leader rebuilds the tree. Parents first. Others
   * that this makes room for start with the next call.
   */
  adopt(update: Branch, options: RequestOptions = {}): Run {
    const run = this.#newRun(entryOf(update), options);
    this.#become(run, 'waiting');
    this.#start(run, run.branch.idleLoan);
    return run;
  }

  /** A run in flight turned out to execute in this class: it takes room there, and none where it was counted (A12). */
  moveTo(granted: Run, runnerClass: string): readonly Run[] {
    const run = this.#granted(granted, 'it executes nowhere');
    const { isExecuting } = run;
    this.#rooms.execute(run, false);
    run.room = this.#rooms.named(runnerClass);
    this.#rooms.execute(run, isExecuting);
    return this.#serve();
  }

  /** Runs of a component that wait, follow or are in flight, in order of arrival. */
  runsOf(component: string): readonly Run[] {
    return this.#twins.get(component) ?? NOBODY;
  }

  /** Gives a granted run back. `succeeded`: its outcome also serves followers of its version (A9). */
  release(granted: Run, ending: 'succeeded' | 'failed'): Said.Released {
    const run = this.#granted(granted, 'there is nothing to release');
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

  // ---- serving ----------------------------------------------------------------------------------------------------

  /** A5: grants until nobody waits who is eligible. Each turn starts a run or closes a branch, so it ends. */
  #serve(): readonly Run[] {
    const granted: Run[] = [];
    for (let next = this.#first(); next !== undefined; next = this.#first()) {
      const run = this.#closings.above(next)?.closedFor ?? next;
      const stopper = stopperOf(run);
      if (stopper !== undefined) this.#closings.close(stopper, run);
      else {
        // The loan preferred (A7). With no slot free, who takes the place of another takes that one's loan (M3).
        const isSlotFree = this.#pool.heldSlots < this.#slots;
        this.#start(run, run.branch.idleLoan ?? (isSlotFree ? undefined : next.branch.idleLoan));
        granted.push(run);
      }
    }
    return granted;
  }

  /**
   * The run to be served first of those who could start: with room in its class, on a slot that is free or on its lender's idle loan (A12).
   * Nobody could while as many execute as the limit says, be the slots lent or not (A4).
   */
  #first(): RunEntry | undefined {
    if (this.#rooms.executing >= this.#slots) return undefined;
    const isSlotFree = this.#pool.heldSlots < this.#slots;
    for (const { number } of this.#rooms.all) {
      const hasRoom = this.#rooms.hasRoom(number);
      this.#isOpen[2 * number] = hasRoom && isSlotFree;
      this.#isOpen[2 * number + 1] = hasRoom;
    }
    this.#closings.open(({ room }) => !this.#rooms.hasRoom(room.number));
    return this.#pool.first(this.#isOpen);
  }

  /** The one place where a run gets a slot: that of the loan, else one of the pool's. */
  #start(run: RunEntry, loan: Loan | undefined): void {
    run.borrowed = loan;
    run.room = this.#rooms.choose(run.room);
    this.#rooms.execute(run, true);
    this.#sequence++;
    this.#become(run, 'granted');
    loan?.pass(run);
    for (const twin of this.#twinsOf(run)) if (twin.state === 'waiting') this.#become(twin, 'following');
  }

  /** A7: a borrower keeps the slot of a parent that ends; else it goes back to the pool, or to the loan that it was of. */
  #end(run: RunEntry): void {
    const { loan, borrowed, branch } = run;
    const heir = loan?.borrower;
    this.#rooms.execute(run, false);
    this.#become(run, 'ended');
    run.borrowed = undefined;
    if (heir !== undefined) {
      heir.borrowed = borrowed;
      if (borrowed === undefined) this.#recount(heir.branch, 0, 1);
    }
    borrowed?.pass(heir);
    if (loan !== undefined) {
      loan.close();
      this.#prune(loan.brood);
    }
    branch.loan?.count(-1);
  }

  /** The run, if it is in flight. */
  #granted(granted: Run, elseWhat: string): RunEntry {
    const run = runOf(granted);
    return run.state === 'granted' ? run : refuse(`run ${run.number} is ${run.state}: ${elseWhat}`);
  }

  // ---- loans (A7, A8) ---------------------------------------------------------------------------------------------

  /** The loan of a run's slot, made with its first child. Whoever lends counts no more as loaded (M1). */
  #loanOf(lender: Run): Loan {
    const run = this.#granted(lender, 'it has no slot to lend');
    if (run.loan !== undefined) return run.loan;
    run.loan = new Loan(run, ++this.#branches, this.#rule, this.#rooms);
    if (run.load === undefined) return run.loan;
    this.#recount(run.branch, 0, 0, UNLOADED, 1);
    run.load = { ...run.load, loaded: 0 };
    return run.loan;
  }

  // ---- waiting ----------------------------------------------------------------------------------------------------

  #newRun(update: BranchEntry, options: RequestOptions): RunEntry {
    if (update.kind !== 'update') refuse(`a run is requested for an update, not for ${nameOf(update)}`);
    if (update.isRemoved) refuse(`${nameOf(update)} was removed and takes no more requests`);
    const load = checkedLoad(options);
    const lender = options.lender && runOf(options.lender);
    if (lender && lender.update !== update) refuse('a lender belongs to the update of its children');
    const branch = lender ? this.#loanOf(lender).brood : update;
    const room = this.#rooms.named(options.runnerClass);
    if (branch.loan) branch.laneFor(2 * room.number + 1);
    const run = new RunEntry(++this.#sequence, branch.laneFor(2 * room.number), room, load, options);
    branch.loan?.count(1);
    if (run.component !== undefined) this.#twins.set(run.component, [...this.#twinsOf(run), run]);
    return run;
  }

  /** The one place where a run changes its state, and with it the list that it stands in and what its branches count (A3). */
  #become(run: RunEntry, state: RunState): void {
    const { branch, lane, load, state: before } = run;
    const waits = Number(state === 'waiting') - Number(before === 'waiting');
    const runs = Number(state === 'granted') - Number(before === 'granted');
    if (before !== 'ended') (before === 'waiting' ? lane.queue : branch.others).remove(run);
    run.state = state;
    if (state !== 'ended') (state === 'waiting' ? lane.queue : branch.others).add(run);
    if (waits !== 0 || runs !== 0) this.#recount(branch, waits, run.borrowed === undefined ? runs : 0, load, runs);
    if (waits < 0) this.#closings.open((other) => other === run);
  }

  #withdraw(run: RunEntry): void {
    this.#become(run, 'ended');
    this.#forget(run);
    run.branch.loan?.count(-1);
    this.#prune(run.branch);
  }

  // ---- one execution of a component at a time (A9) ----------------------------------------------------------------

  #twinsOf({ component }: RunEntry): readonly RunEntry[] {
    return (component === undefined ? undefined : this.#twins.get(component)) ?? NOBODY;
  }

  #leaderOf(run: RunEntry): RunEntry | undefined {
    return this.#twinsOf(run).find(({ state }) => state === 'granted');
  }

  /** Followers of a version that succeeded are served; the others wait for slots again, with their old arrival numbers. */
  #settleTwins(run: RunEntry, ending: 'succeeded' | 'failed'): readonly Run[] {
    const twins = this.#forget(run);
    // A run that was taken over under another parent has a second grant for a moment: its twins go on following that one.
    if (this.#leaderOf(run)) return NOBODY;
    const isServed = ({ version }: RunEntry): boolean =>
      ending === 'succeeded' && version !== undefined && version === run.version;
    for (const twin of twins)
      if (isServed(twin)) this.#withdraw(twin);
      else {
        this.#sequence++;
        this.#become(twin, 'waiting');
      }
    return twins.filter(isServed);
  }

  /** The other runs of its component. */
  #forget(run: RunEntry): readonly RunEntry[] {
    const others = this.#twinsOf(run).filter((twin) => twin !== run);
    if (others.length > 0) this.#twins.set(run.component!, others);
    else if (run.component !== undefined) this.#twins.delete(run.component);
    return others;
  }

  // ---- counts and branches --------------------------------------------------------------------------------------------

  /**
   * A3: the one writer of counts, for a branch and all above it; keeps the order of waiting in step with them. Unless somebody merely began to
   * wait, a run that a limit stopped is tried again.
   */
  #recount(from: BranchEntry, waiting: number, slots: number, load?: Load, runs = 0): void {
    for (let branch: BranchEntry | undefined = from; branch !== undefined; branch = branch.parent) {
      if (waiting > 0 && branch.waiting === 0) branch.since = this.#sequence;
      if (waiting <= 0) branch.isStopped = false;
      if (slots > 0) branch.servedAt = this.#sequence;
      branch.waiting += waiting;
      branch.heldSlots += slots;
      if (load !== undefined) for (const what of LOADS) branch[what] += runs * load[what];
      branch.held = this.#cost === 'slots' ? branch.heldSlots : this.#costOf(branch);
      for (let lane = branch.lane; lane !== undefined; lane = lane.next) lane.settle();
    }
  }

  #costOf(branch: BranchEntry): number {
    const { bytes } = this.#pool.limits ?? {};
    return costOf(this.#cost, branch, { heldSlots: this.#slots, bytes, milliCards: this.#milliCards });
  }

  /** The capacity that dominant shares are parts of has changed. */
  #weighAgain(): void {
    if (this.#cost === 'dominant-share') for (const branch of below(this.#pool)) this.#recount(branch, 0, 0);
  }

  #open(kind: 'source' | 'update', name: string, parent: BranchEntry, loan: Loan | undefined): BranchEntry {
    if (parent.kind === 'update' || parent.isRemoved) refuse(`a ${kind} cannot be opened under ${nameOf(parent)}`);
    const branch = new BranchEntry({ number: ++this.#branches, kind, name }, this.#rule, parent, loan);
    branch.slotsMax = this.#rule.slotsMax?.(name) ?? branch.slotsMax;
    return branch;
  }

  /** Lets go of branches that take no more requests and have come to rest. */
  #prune(from: BranchEntry): void {
    for (let branch = from; branch.parent !== undefined && branch.isGone; branch = branch.parent) {
      branch.parent.children.delete(branch);
      branch.loan?.branches.delete(branch);
    }
  }
}

const NOBODY: readonly never[] = Object.freeze([]);
/** What a run takes off the counts that mounts its first child (M1). */
const UNLOADED: Load = { rows: 0, bytes: 0, milliCards: 0, loaded: -1 };
