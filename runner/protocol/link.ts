// The two ends of the link between whoever admits runs and a runner, as plain calls. In one process the dispatcher and the engine
// call each other directly; between two processes `operator/gateway` and `runner/session` carry the same calls as messages.
//
//   K1. Every call returns at once; answers come as calls in the other direction.
//   K2. Calls of one direction arrive in the order in which they were made.
//   K3. A run is named by its number; the number stands for its newest token on that runner.
import type {
  CardGrant,
  Census,
  ComponentPath,
  Counts,
  FencingToken,
  MountRequest,
  RunNumber,
  RunnerStats,
  RunOrder,
  RunOutcome,
  RunTrace,
  SourceChange,
} from './messages.ts';

/** What a runner says to the dispatcher. All calls return at once; answers come through `Runner`. */
export interface Uplink {
  /**
   * Asks for a child run. The child's start and end come back by `Runner.mountStarted` and `Runner.mountEnded`.
   * A mount of kind `watch` opens a live source below the parent (A8); each mount that a `watch` run makes is an update of that live source.
   */
  mount(parent: RunNumber, request: MountRequest): void;
  /** Withdraws a mount that has not started; a started one is cancelled. */
  unmount(parent: RunNumber, mount: number): void;
  /** The run ended, commit included: its slot goes back. Children that still run go on (they keep a slot that was lent to them). */
  exited(run: RunNumber, outcome: RunOutcome, trace?: RunTrace): void;
  /** Counts so far of an update's root run, for progress: at most a few times a second, and at once when the listing ended (the next cycle may list). */
  progress(run: RunNumber, progress: UpdateProgress): void;
  /**
   * The run's update took the work on these paths over from another update: that one's mounts of them that have not started end
   * `superseded` now, so that they never take a slot.
   */
  tookOver(run: RunNumber, from: string, paths: readonly ComponentPath[]): void;
  /** A watcher saw changes: each key becomes a per-key update. A `rescan` also comes each time a watch is armed: a cycle is due from then on. */
  changed(run: RunNumber, changes: readonly SourceChange[]): void;
  /** What was counted here since the last call, for metrics: every few seconds while runs are executed. */
  measured?(stats: RunnerStats): void;
  /** What the state holds: when the runner begins, and while commits change it, the last one included. */
  counted?(census: Census): void;
  /**
   * Asks for a share of this runner's cards on behalf of a run, in thousandths of a card. Answered by `Runner.cardGranted` or `cardRefused`.
   * `ask` is unique among those of the runner's process: a share may outlive its run, while a body that nobody waits for any more still ends.
   */
  askCard(run: RunNumber, ask: number, milli: number): void;
  /** The body has ended, after `bodyMs` in which it could use the share; or the wish is withdrawn. Said once for each ask that was not refused. */
  cardReturned(run: RunNumber, ask: number, bodyMs: number): void;
}

/** What the dispatcher says to a runner. All calls return at once. */
export interface Runner {
  start(order: RunOrder): void;
  /**
   * Starts a child that a run on this same runner mounted, and tells that it started: all but the token is in the mount and in the
   * parent's order (`childOrder`). Only ends of the link have it, to whom it saves most of an order; others are given the order.
   * When the child is done there, its parent is told there too, and no `mountEnded` follows; it follows every other end.
   */
  startMounted?(token: FencingToken, parent: RunNumber, mount: number): void;
  cancel(run: RunNumber, why: string): void;
  /**
   * A new leader took the run over: commits from now on carry this token. A commit that was refused only because its epoch was older waits
   * for this call and is tried again.
   */
  renewed(run: RunNumber, token: FencingToken): void;
  mountStarted(parent: RunNumber, mount: number): void;
  mountEnded(parent: RunNumber, mount: number, outcome: RunOutcome): void;
  cardGranted(run: RunNumber, ask: number, grant: CardGrant): void;
  /** No card of this runner can ever serve the ask, or its run is over. `why` is for people. */
  cardRefused(run: RunNumber, ask: number, why: string): void;
}

/** How far an update is. `listed`: the listing ended, so `total` is final. */
export interface UpdateProgress {
  readonly listed: boolean;
  /** Items that must be done, as far as known. */
  readonly total: number;
  readonly done: number;
  readonly counts: Counts;
}

/** What a runner tells an operator that does not know what it holds. */
export interface RunnerReport {
  /** Runs that execute or wait for children, in the order of their numbers. */
  readonly runs: readonly ReportedRun[];
  /** Runs that ended without an operator having acknowledged it. */
  readonly ended: readonly { readonly order: RunOrder; readonly outcome: RunOutcome; readonly trace?: RunTrace }[];
  /** Changes that watchers saw and no operator acknowledged. */
  readonly changes: readonly { readonly run: RunNumber; readonly changes: readonly SourceChange[] }[];
  /** Shares that bodies hold or wait for, in the order of their asks. */
  readonly cards: readonly ReportedCard[];
  /** What the state held when it was counted last; absent: it was not yet. */
  readonly census?: Census;
}

export interface ReportedCard {
  readonly run: RunNumber;
  readonly ask: number;
  readonly milli: number;
  /** Name of the update that it counts for; the run may be over. */
  readonly update: string;
  /** Indices of the cards that it holds; absent: it waits. */
  readonly cards?: readonly number[];
}

export interface ReportedRun {
  /** As it was started, with its newest token. */
  readonly order: RunOrder;
  /** Mounts that have not ended. */
  readonly mounts: readonly { readonly request: MountRequest; readonly isStarted: boolean }[];
  readonly progress?: UpdateProgress;
}

export const EMPTY_REPORT: RunnerReport = { runs: [], ended: [], changes: [], cards: [] };
