// Runs that an earlier operator granted, as they come into the table: each holds its slot from its report on (B1). Who is taken over, and in
// which order, is the adoption's to say.
import type { FencingToken, MountRequest, RunNumber, RunOrder } from '../../runner/protocol/index.ts';
import type { AdmissionTree } from '../admission/index.ts';
import type { Clock } from '../clock.ts';
import { addChild, childrenOf, isOf, LiveRun, type Wanted } from './live-run.ts';
import type { OpenUpdate } from './open-update.ts';
import type { DispatchEvents } from './ports.ts';
import type { RunTable } from './run-table.ts';
import type { Runs } from './runs.ts';
import type { Seat } from './seat.ts';
import type { Seating } from './seating.ts';
import { isListed, wishOf } from './wish.ts';

/** A run that an earlier operator granted. */
export interface TakenRun {
  /** Absent: a phantom, of which only its parent told. */
  readonly order?: RunOrder;
  readonly request: MountRequest;
  readonly update: OpenUpdate;
  readonly parent: LiveRun | undefined;
  readonly seat: Seat;
}

export interface TakenRunsOptions {
  readonly tree: AdmissionTree;
  readonly table: RunTable;
  readonly runs: Runs;
  readonly seating: Seating;
  readonly clock: Clock;
  readonly events: DispatchEvents;
}

export class TakenRuns {
  readonly #options: TakenRunsOptions;

  constructor(options: TakenRunsOptions) {
    this.#options = options;
  }

  /** It holds its slot from now on (B1). Undefined: its component executes elsewhere, or it is known (B4). */
  adopt({ order, request, update, parent, seat }: TakenRun): LiveRun | undefined {
    const { table } = this.#options;
    if (order !== undefined && table.get(order.token.run) !== undefined) return undefined;
    if (this.#isTaken(request)) return undefined;
    const run = this.#make(order?.token.run ?? table.newNumber(), request, update, parent);
    run.attempt = order?.token.attempt ?? 1;
    run.losses = order?.losses ?? 0;
    run.resume = order?.resume;
    table.enter(run);
    this.#hold(run, seat);
    if (order !== undefined) this.#tell(run, seat);
    return run;
  }

  /** A mount that was held back (B7) executes there, and holds its slot from now on. Undefined: its component executes elsewhere. */
  seat(run: LiveRun, order: RunOrder, seat: Seat): LiveRun | undefined {
    const { table } = this.#options;
    if (table.get(order.token.run) !== undefined || this.#isTaken(run.request)) return undefined;
    table.renumber(run, order.token.run);
    run.attempt = order.token.attempt;
    run.losses = order.losses ?? 0;
    run.resume = order.resume;
    this.#hold(run, seat);
    this.#tell(run, seat);
    return run;
  }

  /** A run that executes though another has its place (B4): it holds a slot until its runner says that it stopped. */
  condemn(order: RunOrder, request: MountRequest, update: OpenUpdate, seat: Seat, why: string): void {
    const { table, tree, seating } = this.#options;
    const run = this.#make(table.newNumber(), request, update, undefined);
    run.attempt = order.token.attempt;
    run.cancelledWhy = why;
    table.enter(run);
    table.condemn(run, order.token.run);
    update.orphans.add(run);
    const ask = tree.adopt(update.branch, { of: run, runnerClass: seat.runnerClass });
    run.state = { phase: 'executing', seat, ask };
    seating.recount(run);
    seat.runner.cancel(order.token.run, why);
  }

  /** A watcher, which holds no slot. */
  adoptWatcher(order: RunOrder, request: MountRequest, bracket: OpenUpdate, parent: LiveRun | undefined): LiveRun {
    const run = this.#make(order.token.run, request, bracket, parent);
    run.attempt = order.token.attempt;
    this.#options.table.enter(run);
    return run;
  }

  /** A phantom was reported: it has a number and a runner. */
  reseat(run: LiveRun, token: FencingToken, seat: Seat): void {
    if (run.state.phase !== 'executing') return;
    const { table, tree, seating, runs } = this.#options;
    seating.leave(run, run.state.seat);
    table.renumber(run, token.run);
    run.attempt = token.attempt;
    const { ask } = run.state;
    run.state = { phase: 'executing', seat, ask };
    this.#tell(run, seat);
    seating.recount(run);
    runs.start(tree.moveTo(ask, seat.runnerClass));
  }

  /** A run of the parent's update that executes what is wanted and has no parent. */
  orphanOf(wanted: Wanted, parent: LiveRun): LiveRun | undefined {
    for (const { of } of this.#options.tree.runsOf(wanted.path)) {
      const run = of as LiveRun;
      if (!isOf(run, wanted)) continue;
      const isOfParent = parent.kind === 'watch' ? run.update.of === parent.update.of : run.update === parent.update;
      if (isOfParent && run.parent === undefined && run !== parent && run.state.phase === 'executing') return run;
    }
    return undefined;
  }

  /** A child that was taken over before its parent: it borrows the parent's slot from now on, if that is idle. */
  reunite(run: LiveRun, parent: LiveRun, request: MountRequest): void {
    const { state } = run;
    if (state.phase !== 'executing') return;
    const { runs, seating } = this.#options;
    seating.leave(run, state.seat); // by what it was placed for: the parent may have another wish now
    run.parent = parent;
    run.request = request;
    addChild(parent, run);
    run.update.orphans.delete(run);
    this.#hold(run, state.seat);
    runs.release(state.ask, 'failed');
    for (const child of childrenOf(run)) runs.askAgain(child); // what it could lend was the slot that is gone
  }

  /** Another run of the component holds a slot. */
  #isTaken(request: MountRequest): boolean {
    return !isListed(request) && this.#options.tree.runsOf(request.path).some(({ state }) => state === 'granted');
  }

  #make(number: RunNumber, request: MountRequest, update: OpenUpdate, parent: LiveRun | undefined): LiveRun {
    return new LiveRun(number, request, update, parent, this.#options.clock.nowMs());
  }

  #hold(run: LiveRun, seat: Seat): void {
    const { tree, seating } = this.#options;
    const ask = tree.adopt(run.update.branch, { ...wishOf(run), runnerClass: seat.runnerClass });
    run.state = { phase: 'executing', seat, ask };
    seating.recount(ask.loanOf?.of as LiveRun | undefined);
    seating.recount(run);
  }

  /** For those who count: a run that was taken over holds its slot without having been asked for. */
  #tell(run: LiveRun, seat: Seat): void {
    const { clock, events } = this.#options;
    const isLoan = run.state.phase === 'executing' && run.state.ask.loanOf !== undefined;
    run.grantedAtMs = clock.nowMs();
    run.grantedTo = seat.name;
    events.granted?.(run, { isLoan, waitedMs: 0, runner: seat.name });
  }
}
