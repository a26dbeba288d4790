// The dispatcher: brings what the tree grants to runners, and what runners say back to the tree.
// Owns:   the one table of live runs (run-table.ts, runs.ts), what runners say (seat-uplink.ts), seats (seats.ts, placement.ts), shares of cards (cards.ts), live sources (sources.ts), open updates (updates.ts), watchers (watchers.ts).
// Leaves: who is next (operator/admission), when an update begins (operator/triggers), what a run does (the engine, behind `Runner`),
//         whether a runner still lives (operator/gateway).
// All calls return at once and decide at once; what they cause on observers, and on runners that would answer at once, leaves when the turn
// is over (outbox.ts), so that nobody finds a decision half made.
import { EMPTY_REPORT, type RunNumber, type RunnerReport } from '../../runner/protocol/index.ts';
import { AdmissionTree, type Limits, type ServingRule } from '../admission/index.ts';
import type { Clock } from '../clock.ts';
import {
  auditOf,
  type Explanation,
  explanationOf,
  type RunHistory,
  snapshotOf,
  type TreeSnapshot,
} from '../inspection/index.ts';
import { Adoption } from './adoption.ts';
import { auditRuns } from './audit-runs.ts';
import { Cards } from './cards.ts';
import type { LiveRun } from './live-run.ts';
import { pictureOf, type RunPicture } from './look.ts';
import type { SourceSettings, SourceStart } from './open-update.ts';
import { type Defer, Outbox } from './outbox.ts';
import { Placement } from './placement.ts';
import type { DispatchEvents, RunView } from './ports.ts';
import { RunTable } from './run-table.ts';
import { Runs } from './runs.ts';
import type { Seat } from './seat.ts';
import { Seating } from './seating.ts';
import { type JoinedRunner, type RunnerStart, Seats } from './seats.ts';
import { Sources } from './sources.ts';
import { TakenRuns } from './taken-runs.ts';
import type { Cause, UpdateObserver, UpdateStart, UpdateView } from './update.ts';
import { type ItemNeeds, Updates } from './updates.ts';
import { Watchers } from './watchers.ts';

export interface DispatcherOptions {
  readonly clock: Clock;
  /** Runs that may hold a slot at once (`maxInflightComponents`): 1 to 1,000,000. */
  readonly slotsMax: number;
  /** Leadership epoch; 1 where nobody else leads. */
  readonly epoch: number;
  /** Default: fewest held first. */
  readonly rule?: ServingRule;
  readonly limits?: Limits;
  /** Whether some steps need whole cards: fractions then share cards that are in use. Default: no. */
  readonly packsCards?: boolean;
  /** What runs of items need, for the root runs of per-key updates; others are told by whoever mounts them. */
  readonly itemNeeds?: () => ItemNeeds;
  readonly events?: DispatchEvents;
  /** When a turn is over. Default: a microtask later. */
  readonly defer?: Defer;
  /** An update that an earlier operator opened goes on here: `observe` follows it. */
  readonly onAdopted?: (update: UpdateView) => void;
  /** Trace context of an update that is about to open, or of one that is taken over; undefined: it is not traced. */
  readonly traceparentOf?: (update: UpdateView) => string | undefined;
  /** Every runner that was expected has reported or is gone; updates that go on were told of before. */
  readonly onSettled?: () => void;
}

export class Dispatcher {
  readonly #tree: AdmissionTree;
  readonly #table: RunTable;
  readonly #outbox: Outbox;
  readonly #runs: Runs;
  readonly #sources: Sources;
  readonly #updates: Updates;
  readonly #cards: Cards;
  readonly #adoption: Adoption;
  readonly #seats: Seats;

  constructor(options: DispatcherOptions) {
    const { clock, epoch, events = {}, rule, limits } = options;
    const outbox = new Outbox(options.defer ?? queueMicrotask);
    const tree = new AdmissionTree({
      slots: options.slotsMax,
      // A tree without classes grants whatever the runners; with one that has no room, runs wait for the first runner.
      rooms: { none: 0 },
      ...(rule === undefined ? {} : { rule }),
      ...(limits === undefined ? {} : { limits }),
    });
    const placement = new Placement((runnerClass, size) => this.#runs.start(tree.setRoom(runnerClass, size)));
    const table = new RunTable(epoch);
    const seating = new Seating(placement);
    const shared = { tree, table, seating, placement, outbox, clock, epoch, events };
    this.#outbox = outbox;
    this.#tree = tree;
    this.#table = table;
    this.#cards = new Cards({ clock, events, isPacking: options.packsCards ?? false });
    this.#runs = new Runs({
      ...shared,
      openUpdates: () => [...this.#updates.open.keys()],
      rootStarted: (update) => this.#updates.started(update),
      rootEnded: (update, outcome) => this.#updates.ended(update, outcome),
      updateEmpty: (update) => this.#updates.empty(update),
    });
    const taken = new TakenRuns({ ...shared, runs: this.#runs });
    const watchers = new Watchers({
      ...shared,
      runs: this.#runs,
      seats: () => this.#seats.all(),
      closed: (run) => this.#sources.watcherClosed(run),
    });
    this.#sources = new Sources({
      ...shared,
      runs: this.#runs,
      taken,
      watchers,
      cards: this.#cards,
      cancel: (update, why) => this.#updates.cancel(update, why),
    });
    this.#updates = new Updates({
      ...shared,
      runs: this.#runs,
      sources: this.#sources,
      watchers,
      isSettled: () => this.#adoption.isSettled,
      onAdopted: options.onAdopted,
      itemNeeds: options.itemNeeds ?? (() => ({})),
      traceparentOf: options.traceparentOf ?? (() => undefined),
    });
    this.#adoption = new Adoption({
      ...shared,
      runs: this.#runs,
      taken,
      sources: this.#sources,
      updates: this.#updates,
      watchers,
      cards: this.#cards,
      settled: () => outbox.post(() => options.onSettled?.()),
    });
    this.#seats = new Seats({
      ...shared,
      runs: this.#runs,
      sources: this.#sources,
      updates: this.#updates,
      watchers,
      cards: this.#cards,
      adoption: this.#adoption,
    });
  }

  // ---- runners ----------------------------------------------------------------------------------------------------

  addRunner(start: RunnerStart): JoinedRunner {
    return this.adoptRunner(start, EMPTY_REPORT);
  }

  /** A runner joins that holds runs of an earlier operator (B1 to B6). */
  adoptRunner(start: RunnerStart, report: RunnerReport): JoinedRunner {
    return this.#seats.join(start, report);
  }

  /** The runner takes nothing new, except children of what it has. */
  drainRunner(seat: Seat): void {
    this.#seats.drain(seat);
  }

  /** Not heard of: all that it has counts as held and it takes nothing, until it is heard or removed. */
  silenceRunner(seat: Seat): void {
    this.#seats.silence(seat);
  }

  /** Heard again. */
  resumeRunner(seat: Seat): void {
    this.#seats.resume(seat);
  }

  resizeRunner(seat: Seat, slots: number): void {
    this.#seats.resize(seat, slots);
  }

  /** The runner is gone for certain, or its time is up: what it had is asked for again, and each slot goes back once (D4, D6). */
  removeRunner(seat: Seat): void {
    this.#seats.remove(seat);
  }

  /** A runner that an earlier operator had: until it reports or is gone, it counts as full (B2). */
  expectRunner(key: string, slots: number): void {
    this.#adoption.expect(key, slots);
  }

  /** It reported, or is gone. */
  unexpectRunner(key: string): void {
    this.#adoption.unexpect(key);
  }

  /** Nobody who was expected is missing. */
  get isSettled(): boolean {
    return this.#adoption.isSettled;
  }

  seats(): Iterable<Seat> {
    return this.#seats.all();
  }

  // ---- live sources and updates -----------------------------------------------------------------------------------

  openSource(start: SourceStart): void {
    this.#sources.open(start);
  }

  /** New weight and limits decide the next freed slot already, for what waits too (F70). */
  editSource(name: string, settings: SourceSettings): void {
    this.#sources.edit(name, settings);
  }

  /** Ends the source's watcher and updates; what executes is told to stop. */
  closeSource(name: string, why: string): void {
    this.#sources.close(name, why);
  }

  /** Puts the source's watcher onto a runner, and keeps it there; what it sees comes through `SourceStart.onChanged`. */
  watchSource(name: string, runnerClass?: string): void {
    this.#sources.watch(name, runnerClass);
  }

  unwatchSource(name: string): void {
    this.#sources.unwatch(name);
  }

  startUpdate(start: UpdateStart): UpdateView {
    return this.#updates.startUpdate(start);
  }

  /** Something more wants what an open update will do anyway: remembered for its trace. */
  joinUpdate(name: string, cause: Cause): void {
    this.#updates.joinUpdate(name, cause);
  }

  cancelUpdate(name: string, why: string): void {
    this.#updates.cancelUpdate(name, why);
  }

  /** Follows an update that was taken over. */
  observe(name: string, observer: UpdateObserver): void {
    this.#updates.observe(name, observer);
  }

  /** Open updates by name, in the order in which they were opened. */
  get updates(): ReadonlyMap<string, UpdateView> {
    return this.#updates.open;
  }

  // ---- the pool ---------------------------------------------------------------------------------------------------

  /** Down: takes effect as runs end (A6). */
  setSlots(slotsMax: number): void {
    this.#runs.start(this.#tree.setSlots(slotsMax));
  }

  setLimits(limits: Limits): void {
    this.#runs.start(this.#tree.setLimits(this.#tree.pool, limits));
  }

  /** Whether some steps need whole cards; for asks from now on. */
  setCardPacking(isPacking: boolean): void {
    this.#cards.setPacking(isPacking);
  }

  /** Cards and who holds them, to look at. */
  get cards(): Pick<Cards, 'snapshot' | 'branches' | 'shares'> {
    return this.#cards;
  }

  /** The tree, to look at: for snapshots, explanations and audits. */
  get tree(): Pick<AdmissionTree, 'slots' | 'pool'> {
    return this.#tree;
  }

  /** Live runs of all kinds. */
  get liveRuns(): number {
    return this.#table.size;
  }

  /** A picture of the tree: cheap, and apart from what it does next. */
  snapshot(): TreeSnapshot {
    return snapshotOf(this.#tree);
  }

  run(number: RunNumber): RunPicture | undefined {
    const run = this.#table.get(number);
    return run && pictureOf(run);
  }

  /** Live runs of which this holds, oldest first, `max` at the most. Costs by live runs up to the last one found. */
  findRuns(holds: (run: RunView) => boolean, max: number): RunPicture[] {
    const found: RunPicture[] = [];
    for (const run of this.#table.all()) {
      if (found.length >= max) break;
      if (holds(run)) found.push(pictureOf(run));
    }
    return found;
  }

  /** Why a run waits; undefined: it is not in the tree. `history` gives it a time. */
  explain(number: RunNumber, history?: RunHistory): Explanation | undefined {
    const state = this.#table.get(number)?.state;
    return state?.phase === 'asked' ? explanationOf(this.#tree, state.ask, history) : undefined;
  }

  /** Recomputes every count the slow way and throws where one is wrong. */
  audit(): void {
    const wrong = auditOf(this.#tree);
    if (wrong.length > 0) throw new Error(wrong.join('; '));
    auditRuns(this.#table.all(), this.#seats.all());
    this.#cards.audit();
  }

  /** Live runs in a line each, for people. */
  describe(): string {
    return [...this.#table.all()].map(lineOf).join('\n');
  }

  /** Delivers at once what the end of the turn would deliver. */
  flush(): void {
    this.#outbox.flush();
  }
}

function lineOf({ number, kind, path, update, attempt, state, isCounted }: LiveRun): string {
  const where = state.phase === 'executing' || state.phase === 'watching' ? ` on ${state.seat.name}` : '';
  const how = state.phase === 'asked' ? ` (${state.ask.state})` : '';
  const waits = state.phase === 'executing' && !isCounted ? ', waiting for children' : '';
  return `${number} ${kind} ${path} of ${update.name}, attempt ${attempt}: ${state.phase}${how}${where}${waits}`;
}
