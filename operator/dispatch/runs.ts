// What happens to a live run from its request to its end.
//   D1. Every live run is in exactly one state, and each mount is answered exactly once.
//   D3. A grant has a token that is greater than any earlier one of its run and of its component.
//   D4. A slot goes back once: when the run ended, was parked, or when its runner is known to be gone.
//   D6. A run whose runner is gone is asked for again with the same number and the next attempt, and no retry is charged (F89).
//   D10. A run that its runner started for a mount of its own is heard of there when it is done (J5 of runner/session): the operator says
//        nothing of it. It executes no longer when its parent goes on, so executing runs grow by that no more than by a word from here (D9).
// Not here: the table (run-table.ts), runs of an earlier operator (taken-runs.ts), `watch` runs, which take no slot (watchers.ts), and updates
// (updates.ts).
import {
  type ComponentPath,
  type MountRequest,
  NO_COUNTS,
  type RunOutcome,
  type RunTrace,
} from '../../runner/protocol/index.ts';
import type { AdmissionTree, Run } from '../admission/index.ts';
import type { Clock } from '../clock.ts';
import { Ends } from './ends.ts';
import { childrenOf, ENDED, LiveRun, orderOf, removeChild, UNPLACED } from './live-run.ts';
import type { OpenUpdate } from './open-update.ts';
import type { Placement } from './placement.ts';
import type { DispatchEvents } from './ports.ts';
import type { RunTable } from './run-table.ts';
import type { Seat } from './seat.ts';
import type { Seating } from './seating.ts';
import { wishOf } from './wish.ts';

/** How long a run waits that may not share a runner and found none for itself (P4). */
const TRY_AGAIN_MS = 1_000;

export interface RunsOptions {
  readonly tree: AdmissionTree;
  readonly table: RunTable;
  readonly seating: Seating;
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

export class Runs {
  readonly #tree: AdmissionTree;
  readonly #clock: Clock;
  readonly #events: DispatchEvents;
  readonly #options: RunsOptions;
  readonly #table: RunTable;
  readonly #seating: Seating;
  readonly #ends: Ends;

  constructor(options: RunsOptions) {
    this.#tree = options.tree;
    this.#clock = options.clock;
    this.#events = options.events;
    this.#options = options;
    this.#table = options.table;
    this.#seating = options.seating;
    this.#ends = new Ends(options.tree);
  }

  /** Makes a run without asking for a slot. */
  create(request: MountRequest, update: OpenUpdate, parent: LiveRun | undefined): LiveRun {
    const run = new LiveRun(this.#table.newNumber(), request, update, parent, this.#clock.nowMs());
    run.losses = update.losses.get(run.path) ?? 0;
    this.#table.enter(run);
    this.#events.requested?.(run);
    return run;
  }

  /** Asks the tree for a slot. */
  ask(run: LiveRun): void {
    const { run: ask, granted } = this.#tree.request(run.update.branch, wishOf(run));
    run.state = { phase: 'asked', ask };
    this.#seating.recount(run.lender);
    this.start(granted);
  }

  /** A run that waits asks anew: what it waited for is gone. */
  askAgain(run: LiveRun): void {
    const { state } = run;
    if (state.phase !== 'asked') return;
    run.state = UNPLACED;
    const granted = this.#tree.withdraw(state.ask);
    this.ask(run);
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

  /** The attempt is over and the run is not: its slot goes back, and what it mounted belongs to nobody. */
  interrupt(run: LiveRun): void {
    const { state } = run;
    if (state.phase !== 'executing') return;
    this.#abandonChildren(run, true);
    this.#ends.forget(run);
    this.#seating.leave(run, state.seat);
    run.state = UNPLACED;
    run.grantedTo = undefined;
    run.isHeardThere = false;
    this.release(state.ask, 'failed');
  }

  /** Gives a slot back (D4). Answers the runs that the outcome serves too. */
  release(ask: Run, ending: 'succeeded' | 'failed'): readonly Run[] {
    const lender = ask.loanOf?.of as LiveRun | undefined;
    const { granted, reused } = this.#tree.release(ask, ending);
    this.#seating.recount(lender);
    this.#seating.recount((ask.of as LiveRun).lender);
    this.start(granted);
    return reused;
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
    const runs = [...this.#table.all()].filter((run) => run.state.phase === 'executing' && run.seat === seat);
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

  #startOne(ask: Run): void {
    const run = ask.of as LiveRun;
    const seat = this.#options.placement.choose({
      runnerClass: ask.runnerClass,
      preferred: run.parent?.seat,
      losses: run.losses,
      milliCards: run.milliCards,
    });
    if (seat === undefined || this.#table.condemnedOn(seat, run.number) !== undefined) {
      this.#giveBack(run, ask);
      return;
    }
    const isFirst = run.attempt === 0;
    run.attempt++;
    run.state = { phase: 'executing', seat, ask };
    this.#seating.recount(ask.loanOf?.of as LiveRun | undefined);
    this.#seating.recount(run);
    run.grantedAtMs = this.#clock.nowMs();
    run.grantedTo = seat.name;
    this.#events.granted?.(run, {
      isLoan: ask.loanOf !== undefined,
      waitedMs: run.grantedAtMs - run.requestedAtMs,
      runner: seat.name,
    });
    run.isHeardThere = this.#send(run, seat);
    if (isFirst) this.#announceFirst(run);
  }

  /** Answers whether the runner knows by that which mount started. */
  #send(run: LiveRun, seat: Seat): boolean {
    const { parent } = run;
    if (parent === undefined || seat.runner.startMounted === undefined || !isOfMount(run, parent, seat)) {
      seat.runner.start(orderOf(run, this.#options.epoch, this.#options.openUpdates));
      return false;
    }
    seat.runner.startMounted(
      { epoch: this.#options.epoch, run: run.number, attempt: run.attempt },
      parent.number,
      run.mount,
    );
    return true;
  }

  #announceFirst(run: LiveRun): void {
    if (run.isHeardThere && run.update.root !== run) return;
    this.announce(run);
  }

  announce(run: LiveRun): void {
    const { parent } = run;
    if (run.update.root === run) this.#options.rootStarted(run.update);
    const parentSeat = parent?.seat;
    if (parent === undefined || parentSeat === undefined) return;
    parentSeat.runner.mountStarted(parent.number, run.mount);
  }

  /** No runner may have it now (P4), or an older attempt of it has not stopped there and words about either could not be told apart: the slot goes to others, and it asks again soon. */
  #giveBack(run: LiveRun, ask: Run): void {
    this.#wait(run, TRY_AGAIN_MS);
    this.release(ask, 'failed');
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

  #end(run: LiveRun, outcome: RunOutcome, trace?: RunTrace): void {
    const { state } = run;
    if (state.phase !== 'executing') return;
    this.#abandonChildren(run, false);
    this.#ends.forget(run);
    this.#seating.leave(run, state.seat);
    this.#over(run, outcome, trace);
    const reused = this.release(state.ask, outcome.kind === 'done' ? 'succeeded' : 'failed');
    for (const { of } of reused) this.#over(of as LiveRun, reusedOutcome(outcome));
    this.#ends.tell();
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
    this.#table.leave(run);
    this.#events.ended?.(run, outcome, trace);
    update.orphans.delete(run);
    if (parent !== undefined) {
      removeChild(parent, run);
      this.#seating.recount(run.lender);
      if (!run.isHeardThere || outcome.kind !== 'done') this.#ends.add(parent, run.mount, outcome); // D10
    }
    if (update.root === run) this.#options.rootEnded(update, outcome);
    if (--update.liveRuns === 0) this.#options.updateEmpty(update);
  }
}

/** Whether an order says no more than the parent's mount and order do, and the parent is on the same runner. */
const isOfMount = (run: LiveRun, parent: LiveRun, seat: Seat): boolean =>
  parent.seat === seat &&
  parent.kind !== 'watch' &&
  parent.update === run.update &&
  run.losses === 0 &&
  run.resume === undefined;

const NOBODY: readonly Run[] = [];

const ABANDONED = 'the run that mounted it ended';

const cancelled = (why = 'cancelled'): RunOutcome => ({ kind: 'cancelled', why });

/** What a run gets that waited for another one's outcome (A9): the work was counted once already. */
function reusedOutcome(outcome: RunOutcome): RunOutcome {
  return outcome.kind === 'done' ? { ...outcome, counts: { ...NO_COUNTS, unchanged: 1 } } : outcome;
}
