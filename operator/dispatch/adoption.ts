// Taking over: a new operator learns from its runners what the one before it had granted.
//   B1. A reported run keeps its number and attempt, gets a token of this epoch, and holds a slot at once, above the limit if need be.
//   B2. Runners that have not reported execute, all together, no more than the former operator can have let them: all their slots, but at
//       most the limit less what reported runners executed when they reported. Placeholders in the tree hold that, so that executing runs
//       never exceed the limit, and those that reported are served at once with the rest.
//   B3. A mount that its parent knows to have started and nobody has reported executes on a runner that has not: a phantom holds its slot,
//       on the parent's loan where it borrows, until it is reported, or its runner is known to be gone and it is asked for again. One whose
//       component another reported run executes was in a back-off, and asks again at once.
//   B4. A run whose component executes already with a newer token is not taken over: it is cancelled, its token stays old, and it holds a
//       slot until its runner says that it stopped.
//   B5. What ended while no operator was there is answered once its parent is known; until everybody has reported, it is kept, and its slot
//       with it.
//       A run may have mounted two at one path, such as an item's processing and then its removal: what tells them apart is the version.
//   B6. The watcher of a LiveSource is not taken over: it is started anew, and its `rescan` closes the gap. A mounted live source is, since
//       nobody would mount it again.
//   B7. A mount that its parent does not know to have started may execute on a runner that has not reported: the word of it was lost with the
//       former operator. It asks when everybody has reported; after `REPORT_MAX_MS` in any case, and what executes then elsewhere falls under B4.
import type {
  MountRequest,
  ReportedRun,
  Runner,
  RunnerReport,
  RunOrder,
  RunOutcome,
  RunTrace,
} from '../../runner/protocol/index.ts';
import type { AdmissionTree } from '../admission/index.ts';
import type { Clock } from '../clock.ts';
import type { Cards } from './cards.ts';
import { HeldMounts, mountKey } from './held-mounts.ts';
import { childAt, isOf, type LiveRun } from './live-run.ts';
import { Placeholders, UNREPORTED } from './placeholders.ts';
import type { RunTable } from './run-table.ts';
import type { Runs } from './runs.ts';
import { Seat } from './seat.ts';
import type { Sources } from './sources.ts';
import type { TakenRuns } from './taken-runs.ts';
import type { Updates } from './updates.ts';
import type { Watchers } from './watchers.ts';

export interface AdoptionOptions {
  readonly tree: AdmissionTree;
  readonly table: RunTable;
  readonly runs: Runs;
  readonly taken: TakenRuns;
  readonly sources: Sources;
  readonly updates: Updates;
  readonly watchers: Watchers;
  readonly cards: Cards;
  readonly clock: Clock;
  readonly epoch: number;
  /** Everybody who was expected has reported or is gone. */
  readonly settled: () => void;
}

const NOT_TAKEN_OVER = 'another run of its component has its place';

export class Adoption {
  readonly #options: AdoptionOptions;
  /** Slots of the runners that have not reported. */
  readonly #expected = new Map<string, number>();
  /** Runs that reported runners executed when they reported. What had ended proves nothing: its slot may be in use again elsewhere. */
  #reported = 0;
  readonly #placeholders: Placeholders;
  /** Where phantoms are. */
  readonly #nowhere: Seat;
  readonly #phantoms = new Set<LiveRun>();
  readonly #held: HeldMounts;
  /** Ends that wait for their parents (B5). */
  readonly #ends = new Map<string, RunOutcome>();

  constructor(options: AdoptionOptions) {
    this.#options = options;
    const { tree, clock, runs, updates } = options;
    this.#placeholders = new Placeholders({ tree, start: (granted) => runs.start(granted) });
    this.#held = new HeldMounts({ clock, ask: (run) => updates.ask(run) });
    this.#nowhere = new Seat({
      name: UNREPORTED,
      runnerClass: UNREPORTED,
      slots: 0,
      cards: 0,
      runner: NOBODY,
      ordinal: -1,
    });
    this.#nowhere.phase = 'silent';
  }

  get isSettled(): boolean {
    return this.#expected.size === 0;
  }

  expect(key: string, slots: number): void {
    if (this.isSettled) this.#held.begin();
    this.#expected.set(key, slots);
    this.#holdBack();
  }

  /** It reported, or is gone. */
  unexpect(key: string): void {
    if (!this.#expected.delete(key)) return;
    this.#holdBack();
    if (this.isSettled) this.#settle();
  }

  /** Takes over what a runner holds. */
  adopt(seat: Seat, report: RunnerReport): void {
    const { table, sources, updates, cards } = this.#options;
    for (const { order, outcome } of report.ended) {
      if (order.parentRun !== undefined) this.#ends.set(mountKey(order.parentRun, order), outcome);
    }
    const adopted: { readonly run: LiveRun; readonly mounts: ReportedRun['mounts'] }[] = [];
    for (const { order, mounts, progress } of report.runs) {
      const run = this.#adoptRun(seat, order);
      if (run === undefined) {
        this.#refuse(seat, order);
        continue;
      }
      if (progress !== undefined) updates.progress(run, progress);
      adopted.push({ run, mounts });
    }
    cards.adopt(seat, report.cards, (name) => updates.opened(name));
    this.#reported += report.runs.filter(({ mounts }) => mounts.length === 0).length;
    // Known children first: they, not phantoms, are to have their parents' loans.
    const unknown = adopted.map(({ run, mounts }) => ({
      run,
      mounts: mounts.filter((mount) => !this.#reunite(run, mount)),
    }));
    for (const { run, mounts } of unknown) for (const mount of mounts) this.#adoptMount(run, mount);
    for (const { order, outcome, trace } of report.ended) this.#adoptEnd(seat, order, outcome, trace);
    for (const { run, changes } of report.changes) {
      const watcher = table.get(run);
      if (watcher !== undefined) sources.changed(watcher, changes);
    }
    if (this.isSettled) this.#ends.clear();
    this.#holdBack();
  }

  #adoptRun(seat: Seat, order: RunOrder): LiveRun | undefined {
    if (order.kind === 'watch') return this.#adoptWatch(seat, order);
    const { taken, updates, epoch } = this.#options;
    const phantom = this.#phantomOf(order);
    if (phantom !== undefined) {
      this.#phantoms.delete(phantom);
      taken.reseat(phantom, order.token, seat);
    }
    const run = phantom ?? this.#adoptNew(seat, order);
    if (run === undefined) return undefined;
    const { attempt } = run;
    seat.runner.renewed(run.number, { epoch, run: run.number, attempt });
    updates.adopted(run.update);
    return run;
  }

  /** B4. A watcher holds no slot, so it is only told. */
  #refuse(seat: Seat, order: RunOrder): void {
    const { taken, updates } = this.#options;
    if (order.kind === 'watch') {
      seat.runner.cancel(order.token.run, NOT_TAKEN_OVER);
    } else taken.condemn(order, requestOf(order), updates.openForCondemned(), seat, NOT_TAKEN_OVER);
  }

  #adoptNew(seat: Seat, order: RunOrder): LiveRun | undefined {
    const { table, runs, taken, updates } = this.#options;
    const update = updates.adopt(order);
    if (update === undefined) return undefined;
    const parent = order.parentRun === undefined ? undefined : table.get(order.parentRun);
    const held = this.#held.of(order);
    const run = this.#inPlaceOfPhantom(order.path, () =>
      held === undefined
        ? taken.adopt({ order, request: requestOf(order), update, parent: undefined, seat })
        : taken.seat(held, order, seat),
    );
    if (run === undefined) {
      updates.dropIfEmpty(update);
      return undefined;
    }
    if (run === held) runs.announce(run);
    if (order.parentRun === undefined || parent?.kind === 'watch') update.root ??= run;
    return run;
  }

  /** Takes a run over. A phantom of its component leaves its place to it, and follows it. */
  #inPlaceOfPhantom<T>(path: string, adopt: () => T): T {
    const phantom = [...this.#phantoms].find((one) => one.path === path);
    if (phantom === undefined) return adopt();
    const { runs } = this.#options;
    this.#phantoms.delete(phantom);
    // Its slot goes to the run, and to nobody else.
    return this.#placeholders.holdingOneMore(() => {
      runs.interrupt(phantom);
      const adopted = adopt();
      runs.askUnlessOver(phantom);
      return adopted;
    });
  }

  #adoptWatch(seat: Seat, order: RunOrder): LiveRun | undefined {
    if (order.parentRun === undefined) return undefined;
    const { table, sources, watchers, epoch } = this.#options;
    const run = sources.adopt(order, requestOf(order), table.get(order.parentRun));
    watchers.adopt(run, seat);
    const token = { epoch, run: run.number, attempt: run.attempt };
    seat.runner.renewed(run.number, token);
    return run;
  }

  /** The child is known already. */
  #reunite(parent: LiveRun, { request, isStarted }: ReportedRun['mounts'][number]): boolean {
    const { runs, taken } = this.#options;
    const child = taken.orphanOf(request, parent);
    if (child === undefined) return false;
    taken.reunite(child, parent, request);
    if (!isStarted) runs.announce(child);
    return true;
  }

  /** What else a run waits for: it ended meanwhile, it executes where nobody has reported, or it is asked for again. */
  #adoptMount(parent: LiveRun, { request, isStarted }: ReportedRun['mounts'][number]): void {
    const { runs, taken, updates } = this.#options;
    const key = mountKey(parent.number, request);
    const end = this.#ends.get(key);
    if (end !== undefined && end.kind !== 'parked' && parent.seat !== undefined) {
      this.#ends.delete(key);
      parent.seat.runner.mountEnded(parent.number, request.mount, end);
    } else if (isStarted && !this.isSettled && parent.kind !== 'watch' && request.kind !== 'watch') {
      const phantom = taken.adopt({ request, update: parent.update, parent, seat: this.#nowhere });
      if (phantom === undefined) runs.ask(runs.create(request, parent.update, parent));
      else this.#phantoms.add(phantom);
    } else if (this.#isToHold(parent, request)) {
      this.#held.hold(parent.number, runs.create(request, parent.update, parent));
    } else updates.mount(parent, request);
  }

  /** B7. */
  #isToHold({ kind, number }: LiveRun, request: MountRequest): boolean {
    if (kind === 'watch' || request.kind === 'watch') return false;
    return this.#held.isHolding && !this.#held.has(number, request);
  }

  /** A run ended without an operator: its parent is answered, or its update ends. */
  #adoptEnd(seat: Seat, order: RunOrder, outcome: RunOutcome, trace?: RunTrace): void {
    const { table, runs, taken } = this.#options;
    const { parentRun } = order;
    if (parentRun === undefined) {
      const root = this.#adoptRun(seat, order);
      if (root !== undefined) runs.exited(root, outcome, trace);
      return;
    }
    const phantom = this.#phantomOf(order);
    if (phantom !== undefined) {
      this.#phantoms.delete(phantom);
      taken.reseat(phantom, order.token, seat);
      runs.exited(phantom, outcome, trace);
    } else {
      const parent = table.get(parentRun);
      if (parent === undefined) return;
      const child = childAt(parent, order);
      const isWaiting = child?.state.phase === 'asked' || child?.state.phase === 'unplaced';
      if (child !== undefined && isWaiting && outcome.kind !== 'parked') runs.settle(child, outcome);
    }
    this.#ends.delete(mountKey(parentRun, order));
  }

  #phantomOf(order: RunOrder): LiveRun | undefined {
    for (const phantom of this.#phantoms) {
      if (isOf(phantom, order) && phantom.parent?.number === order.parentRun) return phantom;
    }
    return undefined;
  }

  /**
   * B2: as many placeholders as the runners that have not reported can hold slots, less what phantoms hold; and one for each end that waits
   * for its parent, which goes on as soon as it hears of it (B5).
   */
  #holdBack(): void {
    let slots = 0;
    for (const more of this.#expected.values()) slots += more;
    const silent = Math.max(0, Math.min(slots, this.#options.tree.slots - this.#reported) - this.#phantoms.size);
    this.#placeholders.keep(silent + this.#ends.size);
  }

  /** Nobody is left who could report: phantoms are asked for again, and updates whose root never came are closed. */
  #settle(): void {
    const { runs, updates, settled } = this.#options;
    this.#ends.clear();
    this.#phantoms.clear();
    runs.lost(this.#nowhere);
    this.#held.end();
    this.#placeholders.end();
    updates.closeRootless();
    settled();
  }
}

/** Stands for the runners that have not reported: what it is told goes nowhere. */
const NOBODY: Runner = {
  start: () => {},
  cancel: () => {},
  renewed: () => {},
  mountStarted: () => {},
  mountEnded: () => {},
  cardGranted: () => {},
  cardRefused: () => {},
};

/** The mount that led to an order; its number is the parent's to say. */
function requestOf(order: RunOrder): MountRequest {
  const { path, kind, source, key, version, input, runnerClass, rows, bytes, reprocess, milliCards } = order;
  return {
    mount: 0,
    path,
    kind,
    ...(source === undefined ? {} : { source }),
    ...(key === undefined ? {} : { key }),
    ...(version === undefined ? {} : { version }),
    ...(input === undefined ? {} : { input }),
    ...(runnerClass === undefined ? {} : { runnerClass }),
    ...(rows === undefined ? {} : { rows }),
    ...(bytes === undefined ? {} : { bytes }),
    ...(reprocess === undefined ? {} : { reprocess }),
    ...(milliCards === undefined ? {} : { milliCards }),
  };
}
