// The table of live runs, and what happens to one of them from its request to its end.
//   D1. Every live run is in exactly one state, and each mount is answered exactly once.
//   D2. A run executes on at most one seat. What a seat says of a run that it does not execute any more is ignored.
//   D3. A grant has a token that is greater than any earlier one of its run and of its component.
//   D4. A slot goes back once: when the run ended, was parked, or when its runner is known to be gone.
//   D6. A run whose runner is gone is asked for again with the same number and the next attempt, and no retry is charged (F89).
// Not here: `watch` runs, which take no slot (watchers.ts), and updates (dispatcher.ts).
import {
  type ComponentPath,
  type FencingToken,
  firstRunNumber,
  type MountRequest,
  NO_COUNTS,
  type RunNumber,
  type RunOrder,
  type RunOutcome,
  type RunTrace,
} from '../../runner/protocol/index.ts';
import type { AdmissionTree, RequestOptions, Run } from '../admission/index.ts';
import type { Clock } from '../clock.ts';
import { Ends } from './ends.ts';
import { addChild, childrenOf, ENDED, LiveRun, orderOf, removeChild, UNPLACED } from './live-run.ts';
import type { OpenUpdate } from './open-update.ts';
import type { Placement } from './placement.ts';
import type { DispatchEvents } from './ports.ts';
import type { Seat } from './seat.ts';

/** How long a run waits that may not share a runner and found none for itself (P4). */
const TRY_AGAIN_MS = 1_000;

export interface RunsOptions {
  readonly tree: AdmissionTree;
  readonly placement: Placement;
  readonly clock: Clock;
  readonly epoch: number;
  readonly events: DispatchEvents;
  /** Names of all open updates. */
  readonly openUpdates: () => readonly string[];
  /** The first attempt of an update's root run starts. */
  readonly rootStarted: (update: OpenUpdate) => void;
  /** An update's root run is over (D5). */
  readonly rootEnded: (update: OpenUpdate, outcome: RunOutcome) => void;
  /** The last run of an update is over. */
  readonly updateEmpty: (update: OpenUpdate) => void;
}

/** A run that an earlier operator granted. */
export interface AdoptedRun {
  readonly order?: RunOrder;
  readonly request: MountRequest;
  readonly update: OpenUpdate;
  readonly parent: LiveRun | undefined;
  readonly seat: Seat;
}

export class Runs {
  readonly #tree: AdmissionTree;
  readonly #placement: Placement;
  readonly #clock: Clock;
  readonly #epoch: number;
  readonly #events: DispatchEvents;
  readonly #options: RunsOptions;
  readonly #ends: Ends;
  readonly #table = new Map<RunNumber, LiveRun>();
  /** Runs that were not taken over and have not stopped, with the numbers by which their runners know them. */
  readonly #condemned = new Map<LiveRun, RunNumber>();
  #nextNumber: RunNumber;

  constructor(options: RunsOptions) {
    this.#tree = options.tree;
    this.#placement = options.placement;
    this.#clock = options.clock;
    this.#epoch = options.epoch;
    this.#events = options.events;
    this.#options = options;
    this.#ends = new Ends(options.tree);
    this.#nextNumber = firstRunNumber(options.epoch);
  }

  get size(): number {
    return this.#table.size;
  }

  all(): Iterable<LiveRun> {
    return this.#table.values();
  }

  get(number: RunNumber): LiveRun | undefined {
    return this.#table.get(number);
  }

  /** The run, if this seat has it (D2). */
  on(seat: Seat, number: RunNumber): LiveRun | undefined {
    const run = this.#table.get(number);
    if (run?.seat === seat) return run;
    return this.#condemned.size === 0 ? undefined : this.#condemnedOn(seat, number);
  }

  #condemnedOn(seat: Seat, number: RunNumber): LiveRun | undefined {
    for (const [condemned, known] of this.#condemned) if (known === number && condemned.seat === seat) return condemned;
    return undefined;
  }

  /** Makes a run without asking for a slot. */
  create(request: MountRequest, update: OpenUpdate, parent: LiveRun | undefined): LiveRun {
    const run = new LiveRun(this.#nextNumber++, request, update, parent, this.#clock.nowMs());
    this.#table.set(run.number, run);
    run.losses = update.losses.get(run.path) ?? 0;
    update.liveRuns++;
    if (parent !== undefined) addChild(parent, run);
    this.#events.requested?.(run);
    return run;
  }

  /**
   * A run that is in flight already holds its slot from now on (B1). Undefined: its component executes elsewhere, or it is known (B4).
   * Without an order it is a phantom: only its parent told of it.
   */
  adopt(held: AdoptedRun): LiveRun | undefined {
    const { order, request, update, parent, seat } = held;
    if (order !== undefined && this.#table.has(order.token.run)) return undefined;
    const isTaken = isListed(request)
      ? false
      : this.#tree.runsOf(request.path).some(({ state }) => state === 'granted');
    if (isTaken) return undefined;
    const number = order?.token.run ?? this.#nextNumber++;
    const run = new LiveRun(number, request, update, parent, this.#clock.nowMs());
    run.attempt = order?.token.attempt ?? 1;
    run.losses = order?.losses ?? 0;
    run.resume = order?.resume;
    this.#table.set(number, run);
    update.liveRuns++;
    if (parent !== undefined) addChild(parent, run);
    this.#hold(run, seat);
    if (order !== undefined) this.#tellTaken(run, seat);
    return run;
  }

  /** For those who count: a run that was taken over holds its slot without having been asked for. */
  #tellTaken(run: LiveRun, seat: Seat): void {
    const isLoan = run.state.phase === 'executing' && run.state.ask.loanOf !== undefined;
    run.grantedAtMs = this.#clock.nowMs();
    run.grantedTo = seat.name;
    this.#events.granted?.(run, { isLoan, waitedMs: 0, runner: seat.name });
  }

  /** A run that executes though another has its place (B4): it holds a slot until its runner says that it stopped. */
  condemn(order: RunOrder, request: MountRequest, update: OpenUpdate, seat: Seat, why: string): void {
    const run = new LiveRun(this.#nextNumber++, request, update, undefined, this.#clock.nowMs());
    run.attempt = order.token.attempt;
    run.cancelledWhy = why;
    this.#table.set(run.number, run);
    this.#condemned.set(run, order.token.run);
    update.liveRuns++;
    update.orphans.add(run);
    const ask = this.#tree.adopt(update.branch, { of: run, runnerClass: seat.runnerClass });
    run.state = { phase: 'executing', seat, ask };
    this.#recount(run);
    seat.runner.cancel(order.token.run, why);
  }

  /** A watcher that an earlier operator started. */
  adoptWatcher(order: RunOrder, request: MountRequest, bracket: OpenUpdate, parent: LiveRun | undefined): LiveRun {
    const run = new LiveRun(order.token.run, request, bracket, parent, this.#clock.nowMs());
    run.attempt = order.token.attempt;
    this.#table.set(run.number, run);
    bracket.liveRuns++;
    if (parent !== undefined) addChild(parent, run);
    return run;
  }

  /** A phantom was reported: it has a number and a runner. */
  reseat(run: LiveRun, token: FencingToken, seat: Seat): void {
    if (run.state.phase !== 'executing') return;
    this.#leaveSeat(run, run.state.seat);
    this.#table.delete(run.number);
    run.number = token.run;
    run.attempt = token.attempt;
    this.#table.set(run.number, run);
    const { ask } = run.state;
    run.state = { phase: 'executing', seat, ask };
    this.#tellTaken(run, seat);
    this.#recount(run);
    this.start(this.#tree.moveTo(ask, seat.runnerClass));
  }

  /** A run of the parent's update that executes at a path and has no parent. */
  orphanAt(path: ComponentPath, parent: LiveRun): LiveRun | undefined {
    for (const { of } of this.#tree.runsOf(path)) {
      const run = of as LiveRun;
      const isOfParent = parent.kind === 'watch' ? run.update.of === parent.update.of : run.update === parent.update;
      if (isOfParent && run.parent === undefined && run !== parent && run.state.phase === 'executing') return run;
    }
    return undefined;
  }

  /** A child that was taken over before its parent: it borrows the parent's slot from now on, if that is idle. */
  reunite(run: LiveRun, parent: LiveRun, request: MountRequest): void {
    const { state } = run;
    if (state.phase !== 'executing') return;
    this.#leaveSeat(run, state.seat); // by what it was placed for: the parent may have another wish now
    run.parent = parent;
    run.request = request;
    addChild(parent, run);
    run.update.orphans.delete(run);
    this.#hold(run, state.seat);
    this.#release(state.ask, 'failed');
    this.#askAgain(childrenOf(run));
  }

  /** Children that wait for their parent's loan: what it holds now is another slot, and they would wait for one that is gone. */
  #askAgain(children: readonly LiveRun[]): void {
    for (const child of children) {
      const { state } = child;
      if (state.phase !== 'asked') continue;
      child.state = UNPLACED;
      const granted = this.#tree.withdraw(state.ask);
      this.ask(child);
      this.start(granted);
    }
  }

  /** The child at a path. */
  childAt(parent: LiveRun, path: ComponentPath): LiveRun | undefined {
    for (let child = parent.firstChild; child !== undefined; child = child.nextSibling) {
      if (child.path === path) return child;
    }
    return undefined;
  }

  #hold(run: LiveRun, seat: Seat): void {
    const ask = this.#tree.adopt(run.update.branch, { ...wishOf(run), runnerClass: seat.runnerClass });
    run.state = { phase: 'executing', seat, ask };
    this.#recount(ask.loanOf?.of as LiveRun | undefined);
    this.#recount(run);
  }

  /** Asks the tree for a slot. */
  ask(run: LiveRun): void {
    const { run: ask, granted } = this.#tree.request(run.update.branch, wishOf(run));
    run.state = { phase: 'asked', ask };
    this.#recount(run.lender);
    this.start(granted);
  }

  /** Asks once more: whoever counts what waits, and so what runners are needed for, hears of it as of the first time. */
  #requestAgain(run: LiveRun): void {
    this.#events.requested?.(run);
    this.ask(run);
  }

  /** Brings granted runs to runners. */
  start(granted: readonly Run[]): void {
    for (const ask of granted) this.#startOne(ask);
    this.#ends.tell(); // whatever gave a slot back may let a parent go on (D9)
  }

  /** The runner says that the run's attempt is over. */
  exited(run: LiveRun, outcome: RunOutcome, trace?: RunTrace): void {
    if (run.state.phase !== 'executing') return;
    if (outcome.kind === 'parked' && run.cancelledWhy === undefined) this.#park(run, outcome, trace);
    else this.#end(run, outcome.kind === 'parked' ? cancelled(run.cancelledWhy) : outcome, trace);
  }

  /** Stops a run: one that does not execute ends now, one that does is told and ends when its runner says so. */
  cancel(run: LiveRun, why: string): void {
    if (run.cancelledWhy !== undefined) return;
    run.cancelledWhy = why;
    const { state } = run;
    if (state.phase === 'executing') state.seat.runner.cancel(run.number, why);
    else this.settle(run, cancelled(why));
  }

  /** Stops a run and everything below it. */
  cancelAll(run: LiveRun, why: string): void {
    this.cancel(run, why);
    for (const child of childrenOf(run)) this.cancelAll(child, why);
  }

  /** Ends a run that does not execute. */
  settle(run: LiveRun, outcome: RunOutcome): void {
    const { state } = run;
    if (state.phase === 'parked') state.wake();
    const granted = state.phase === 'asked' ? this.#tree.withdraw(state.ask) : NOBODY;
    this.#over(run, outcome);
    this.start(granted);
    this.#ends.tell();
  }

  /** The child that the parent mounted under this number. */
  childOf(parent: LiveRun, mount: number): LiveRun | undefined {
    for (let child = parent.firstChild; child !== undefined; child = child.nextSibling) {
      if (child.mount === mount) return child;
    }
    return undefined;
  }

  /** A newer update has the work: the older update's runs of the component that do not execute end, and never take a slot. */
  supersede(path: ComponentPath, update: string): void {
    for (const { of } of [...this.#tree.runsOf(path)]) {
      const run = of as LiveRun;
      if (run.update.name === update && run.state.phase === 'asked') this.settle(run, { kind: 'superseded' });
    }
  }

  /** Asks for a slot, for a run that had to wait for something else first. */
  askUnlessOver(run: LiveRun): void {
    if (run.state.phase === 'unplaced') this.ask(run);
  }

  /**
   * The seat's runner is gone: what it executed is asked for again (D6), except children of attempts that are cut short here or were before:
   * the parent's next attempt mounts those again. Answers how many runs the runner had.
   */
  lost(seat: Seat): number {
    const runs = [...this.#table.values()].filter((run) => run.state.phase === 'executing' && run.seat === seat);
    for (const run of runs) {
      this.#events.lost?.(run, seat.name);
      if (run.isCounted) run.losses++;
    }
    for (const run of runs) this.#abandonChildren(run, true);
    for (const run of runs) {
      if (run.cancelledWhy !== undefined) this.#end(run, cancelled(run.cancelledWhy));
      else if (run.isAbandoned) {
        run.update.losses.set(run.path, run.losses);
        this.#end(run, cancelled(ABANDONED));
      } else {
        this.interrupt(run);
        run.requestedAtMs = this.#clock.nowMs();
        this.#requestAgain(run);
      }
    }
    return runs.length;
  }

  /** Throws where a seat's counts are not those of its runs, or a run is not where its state says. */
  audit(seats: Iterable<Seat>): void {
    const executing = new Map<Seat, number>();
    const suspects = new Map<Seat, number>();
    const spoken = new Map<Seat, number>();
    for (const run of this.#table.values()) {
      const { state } = run;
      if (state.phase === 'asked') {
        invariant(
          state.ask.state === 'waiting' || state.ask.state === 'following',
          `run ${run.number} asked and is ${state.ask.state}`,
        );
      }
      if (state.phase !== 'executing') continue;
      invariant(state.ask.state === 'granted', `run ${run.number} executes without a grant`);
      invariant(state.ask.isExecuting === run.isCounted, `run ${run.number} is counted wrongly on ${state.seat.name}`);
      if (!run.isCounted) continue;
      executing.set(state.seat, (executing.get(state.seat) ?? 0) + 1);
      spoken.set(state.seat, (spoken.get(state.seat) ?? 0) + run.milliCards);
      if (run.losses > 0) suspects.set(state.seat, (suspects.get(state.seat) ?? 0) + 1);
    }
    for (const seat of seats) {
      invariant(seat.executing === (executing.get(seat) ?? 0), `${seat.name} counts ${seat.executing} runs wrongly`);
      invariant(seat.suspects === (suspects.get(seat) ?? 0), `${seat.name} counts ${seat.suspects} suspects wrongly`);
      invariant(seat.spokenMilli === (spoken.get(seat) ?? 0), `${seat.name} counts ${seat.spokenMilli}m wrongly`);
    }
  }

  #startOne(ask: Run): void {
    const run = ask.of as LiveRun;
    const seat = this.#placement.choose({
      runnerClass: ask.runnerClass,
      preferred: run.parent?.seat,
      losses: run.losses,
      milliCards: run.milliCards,
    });
    if (seat === undefined || this.#hasCondemned(seat, run.number)) {
      this.#giveBack(run, ask);
      return;
    }
    const isFirst = run.attempt === 0;
    run.attempt++;
    run.state = { phase: 'executing', seat, ask };
    this.#recount(ask.loanOf?.of as LiveRun | undefined);
    this.#recount(run);
    run.grantedAtMs = this.#clock.nowMs();
    run.grantedTo = seat.name;
    this.#events.granted?.(run, {
      isLoan: ask.loanOf !== undefined,
      waitedMs: run.grantedAtMs - run.requestedAtMs,
      runner: seat.name,
    });
    const isKnownThere = this.#send(run, seat);
    if (isFirst) this.#announceFirst(run, isKnownThere);
  }

  /** Answers whether the runner knows by that that the parent's mount started. */
  #send(run: LiveRun, seat: Seat): boolean {
    const { parent } = run;
    if (parent === undefined || seat.runner.startMounted === undefined || !isOfMount(run, parent, seat)) {
      seat.runner.start(orderOf(run, this.#epoch, this.#options.openUpdates));
      return false;
    }
    seat.runner.startMounted({ epoch: this.#epoch, run: run.number, attempt: run.attempt }, parent.number, run.mount);
    return true;
  }

  #announceFirst(run: LiveRun, isKnownThere: boolean): void {
    if (isKnownThere && run.update.root !== run) return;
    this.announce(run);
  }

  announce(run: LiveRun): void {
    const { parent } = run;
    if (run.update.root === run) this.#options.rootStarted(run.update);
    const parentSeat = parent?.seat;
    if (parent === undefined || parentSeat === undefined) return;
    parentSeat.runner.mountStarted(parent.number, run.mount);
  }

  /** An older attempt of the run has not stopped there, and words about either could not be told apart. */
  #hasCondemned(seat: Seat, number: RunNumber): boolean {
    return this.#condemned.size > 0 && this.#condemnedOn(seat, number) !== undefined;
  }

  /** No runner may have it now (P4): the slot goes to others, and it asks again soon. */
  #giveBack(run: LiveRun, ask: Run): void {
    this.#wait(run, TRY_AGAIN_MS);
    this.#release(ask, 'failed');
  }

  #park(run: LiveRun, outcome: RunOutcome & { readonly kind: 'parked' }, trace: RunTrace | undefined): void {
    run.resume = outcome.resume;
    this.#events.parked?.(run, outcome, trace);
    this.interrupt(run);
    this.#wait(run, outcome.resumeAfterMs);
  }

  #wait(run: LiveRun, delayMs: number): void {
    run.requestedAtMs = this.#clock.nowMs() + delayMs;
    run.state = { phase: 'parked', wake: this.#clock.after(delayMs, () => this.#requestAgain(run)) };
  }

  /** The attempt is over and the run is not: its slot goes back, and what it mounted belongs to nobody. */
  interrupt(run: LiveRun): void {
    const { state } = run;
    if (state.phase !== 'executing') return;
    this.#abandonChildren(run, true);
    this.#ends.forget(run);
    this.#leaveSeat(run, state.seat);
    run.state = UNPLACED;
    run.grantedTo = undefined;
    this.#release(state.ask, 'failed');
  }

  #end(run: LiveRun, outcome: RunOutcome, trace?: RunTrace): void {
    const { state } = run;
    if (state.phase !== 'executing') return;
    this.#abandonChildren(run, false);
    this.#ends.forget(run);
    this.#leaveSeat(run, state.seat);
    this.#over(run, outcome, trace);
    const reused = this.#release(state.ask, outcome.kind === 'done' ? 'succeeded' : 'failed');
    for (const { of } of reused) this.#over(of as LiveRun, reusedOutcome(outcome));
    this.#ends.tell();
  }

  /** Gives a slot back (D4). Answers the runs that the outcome serves too. */
  #release(ask: Run, ending: 'succeeded' | 'failed'): readonly Run[] {
    const lender = ask.loanOf?.of as LiveRun | undefined;
    const { granted, reused } = this.#tree.release(ask, ending);
    this.#recount(lender);
    this.#recount((ask.of as LiveRun).lender);
    this.start(granted);
    return reused;
  }

  /** Children of an attempt that is over: those that wait are withdrawn, those that execute go on without a parent. */
  #abandonChildren(run: LiveRun, isCutShort: boolean): void {
    for (const child of childrenOf(run)) {
      removeChild(run, child);
      child.parent = undefined;
      if (child.kind === 'watch') continue;
      child.isAbandoned = isCutShort;
      if (child.state.phase === 'executing') run.update.orphans.add(child);
      else this.settle(child, cancelled(ABANDONED));
    }
  }

  /** The run is out of the table, and whoever waits for it knows. */
  over(run: LiveRun, outcome: RunOutcome): void {
    this.#over(run, outcome);
    this.#ends.tell();
  }

  #over(run: LiveRun, outcome: RunOutcome, trace?: RunTrace): void {
    const { parent, update } = run;
    run.state = ENDED;
    if (outcome.kind === 'done') update.losses.delete(run.path);
    this.#table.delete(run.number);
    this.#condemned.delete(run);
    this.#events.ended?.(run, outcome, trace);
    update.orphans.delete(run);
    if (parent !== undefined) {
      removeChild(parent, run);
      this.#recount(run.lender);
      this.#ends.add(parent, run.mount, outcome);
    }
    if (update.root === run) this.#options.rootEnded(update, outcome);
    if (--update.liveRuns === 0) this.#options.updateEmpty(update);
  }

  #leaveSeat(run: LiveRun, seat: Seat): void {
    if (!run.isCounted) return;
    run.isCounted = false;
    this.#placement.vacate(seat, run);
  }

  /** Counts a run on its seat exactly while the tree says that it executes (P3). */
  #recount(run: LiveRun | undefined): void {
    if (run === undefined || run.state.phase !== 'executing') return;
    const { ask, seat } = run.state;
    if (ask.isExecuting === run.isCounted) return;
    run.isCounted = ask.isExecuting;
    if (run.isCounted) this.#placement.occupy(seat, run);
    else this.#placement.vacate(seat, run);
  }
}

/** Kinds that are components: one execution at a time, and outcomes that can be shared (A9). Roots that list are none. */
const isListed = ({ kind }: Pick<MountRequest, 'kind'>): boolean => kind === 'cycle' || kind === 'pipeline';

/** What the tree needs to know of a run. */
function wishOf(run: LiveRun): RequestOptions {
  const { request, parent } = run;
  const wish: { -readonly [K in keyof RequestOptions]: RequestOptions[K] } = { of: run };
  // Updates of a live source borrow by their branch, not one by one (A8).
  if (parent?.state.phase === 'executing') wish.lender = parent.state.ask;
  if (request.runnerClass !== undefined) wish.runnerClass = request.runnerClass;
  if (request.rows !== undefined) wish.rows = request.rows;
  if (request.bytes !== undefined) wish.bytes = request.bytes;
  if (request.milliCards !== undefined) wish.milliCards = request.milliCards;
  if (!isListed(request)) {
    wish.component = run.path;
    if (request.version !== undefined) wish.version = request.version;
  }
  return wish;
}

/** Whether an order says no more than the parent's mount and order do, and the parent is on the same runner. */
const isOfMount = (run: LiveRun, parent: LiveRun, seat: Seat): boolean =>
  parent.seat === seat &&
  parent.kind !== 'watch' &&
  parent.update === run.update &&
  run.losses === 0 &&
  run.resume === undefined;

function invariant(claim: boolean, message: string): void {
  if (!claim) throw new Error(message);
}

const NOBODY: readonly Run[] = [];

const ABANDONED = 'the run that mounted it ended';

const cancelled = (why = 'cancelled'): RunOutcome => ({ kind: 'cancelled', why });

/** What a run gets that waited for another one's outcome (A9): the work was counted once already. */
function reusedOutcome(outcome: RunOutcome): RunOutcome {
  return outcome.kind === 'done' ? { ...outcome, counts: { ...NO_COUNTS, unchanged: 1 } } : outcome;
}
