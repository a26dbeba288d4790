// What this runner holds, for an operator that does not know; it stands between the engine and the link, on the engine's thread.
//   J1. A run is held from its order until its end was acknowledged, a mount from its request until its answer.
//   J2. What the engine says of a run that is not held goes nowhere: its lease ran out.
//   J3. An order whose token is not newer than the one that is held, or whose epoch is not the session's, is refused.
//   J4. While the runner leaves, an order is handed back as it comes, and a run that ends cancelled because of it is handed back too: it
//       is asked for again elsewhere and no retry is charged.
//   J5. A run that is done and was started for a mount of this runner, in this opening of the session, is heard of by the run that mounted it when
//       the turn is over: it need not wait for the way to the operator and back, and the operator does not say it again (D10). Other ends are
//       the operator's to judge.
// Shares of cards are in held-cards.ts.
import {
  type CardGrant,
  type Census,
  type ComponentPath,
  childOrder,
  compareTokens,
  type FencingToken,
  type LinkedRunner,
  type MountRequest,
  type RunNumber,
  type Runner,
  type RunnerReport,
  type RunnerStats,
  type RunOrder,
  type RunOutcome,
  type RunTrace,
  type SourceChange,
  type UpdateProgress,
  type Uplink,
} from '../protocol/index.ts';
import { HeldCards } from './held-cards.ts';

interface HeldRun {
  order: RunOrder;
  readonly mounts: Map<number, HeldMount>;
  progress?: UpdateProgress;
  /** Cancelled because the runner leaves. */
  isHandedBack: boolean;
  /** The mount that it was started for (J5). */
  mounted: MountedHere | undefined;
}

interface MountedHere {
  readonly by: HeldRun;
  readonly mount: number;
}

interface HeldMount {
  readonly request: MountRequest;
  isStarted: boolean;
  /** The engine withdrew it and waits for its end. */
  isWithdrawn: boolean;
}

/** Something that counts until the batch it went with is acknowledged. */
interface Unacknowledged<T> {
  readonly batch: number;
  readonly what: T;
}

export interface LedgerOptions {
  readonly engine: Runner;
  /** Where the runner's words go. */
  readonly uplink: Uplink;
  /** Number of the batch that the next word goes with. */
  readonly nextBatch: () => number;
  /** The last run ended, whether it was held or its session is over. */
  readonly onIdle?: () => void;
}

const HANDED_BACK = 'the runner leaves';
const UNMOUNTED = 'the run that mounted it ended';

export class Ledger implements Uplink, LinkedRunner {
  readonly #options: LedgerOptions;
  readonly #runs = new Map<RunNumber, HeldRun>();
  #ended: Unacknowledged<RunnerReport['ended'][number]>[] = [];
  #changes: Unacknowledged<{ readonly run: RunNumber; readonly changes: readonly SourceChange[] }>[] = [];
  /** Runs of a session that is over, which the engine has not stopped yet. */
  readonly #stopping = new Set<RunNumber>();
  readonly #cards = new HeldCards();
  /** What the state held when the engine counted it last. */
  #census: Census | undefined;
  /** What runs are to hear when the turn is over (J5). */
  #heardHere: (MountedHere & { readonly outcome: RunOutcome })[] = [];
  #epoch = 0;
  #isLeaving = false;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** Nothing executes here, not even for a session that is over, and no body uses a card. */
  get isIdle(): boolean {
    return this.#runs.size === 0 && this.#stopping.size === 0 && this.#cards.isEmpty;
  }

  /** Ends that no operator acknowledged. */
  get unacknowledged(): number {
    return this.#ended.length;
  }

  /** Tokens of the runs that it holds. */
  tokens(): FencingToken[] {
    return [...this.#runs.values()].map(({ order }) => order.token);
  }

  // ---- what the operator says -------------------------------------------------------------------------------------

  start(order: RunOrder): void {
    this.#begin(order, undefined);
  }

  #begin(order: RunOrder, mounted: MountedHere | undefined): void {
    const { token } = order;
    if (this.#isRefused(token)) return;
    const run: HeldRun = { order, mounts: new Map(), isHandedBack: this.#isLeaving, mounted };
    this.#runs.set(token.run, run);
    if (this.#isLeaving) this.exited(token.run, { kind: 'cancelled', why: HANDED_BACK });
    else this.#options.engine.start(order);
  }

  startMounted(token: FencingToken, parent: RunNumber, mount: number): void {
    const mounter = this.#runs.get(parent);
    const pending = mounter?.mounts.get(mount);
    if (mounter === undefined || pending === undefined) {
      // The attempt that mounted it ended while the order was on its way.
      if (!this.#isRefused(token)) this.#options.uplink.exited(token.run, { kind: 'cancelled', why: UNMOUNTED });
      return;
    }
    this.#begin(childOrder(mounter.order, pending.request, token), { by: mounter, mount });
    this.mountStarted(parent, mount);
  }

  cancel(run: RunNumber, why: string): void {
    if (this.#runs.has(run)) this.#options.engine.cancel(run, why);
  }

  renewed(run: RunNumber, token: FencingToken): void {
    const held = this.#runs.get(run);
    if (held === undefined || token.epoch !== this.#epoch) return;
    held.order = { ...held.order, token };
    this.#options.engine.renewed(run, token);
  }

  mountStarted(parent: RunNumber, mount: number): void {
    const pending = this.#runs.get(parent)?.mounts.get(mount);
    if (pending === undefined) return;
    pending.isStarted = true;
    this.#options.engine.mountStarted(parent, mount);
  }

  mountEnded(parent: RunNumber, mount: number, outcome: RunOutcome): void {
    if (this.#runs.get(parent)?.mounts.delete(mount) === true) {
      this.#options.engine.mountEnded(parent, mount, outcome);
    }
  }

  cardGranted(run: RunNumber, ask: number, grant: CardGrant): void {
    if (this.#cards.granted(ask, grant.cards)) this.#options.engine.cardGranted(run, ask, grant);
  }

  cardRefused(run: RunNumber, ask: number, why: string): void {
    if (this.#cards.refused(ask)) this.#options.engine.cardRefused(run, ask, why);
    this.#tellIfIdle();
  }

  // ---- what the engine says ---------------------------------------------------------------------------------------

  mount(parent: RunNumber, request: MountRequest): void {
    const held = this.#runs.get(parent);
    if (held === undefined) return;
    held.mounts.set(request.mount, { request, isStarted: false, isWithdrawn: false });
    this.#options.uplink.mount(parent, request);
  }

  unmount(parent: RunNumber, mount: number): void {
    const pending = this.#runs.get(parent)?.mounts.get(mount);
    if (pending === undefined) return;
    pending.isWithdrawn = true;
    this.#options.uplink.unmount(parent, mount);
  }

  exited(run: RunNumber, outcome: RunOutcome, trace?: RunTrace): void {
    const held = this.#runs.get(run);
    if (held === undefined) {
      if (this.#stopping.delete(run)) this.#tellIfIdle();
      return;
    }
    this.#runs.delete(run);
    const said = held.isHandedBack && outcome.kind === 'cancelled' ? handedBack(held) : outcome;
    const what = { order: held.order, outcome: said, ...(trace === undefined ? {} : { trace }) };
    this.#ended.push({ batch: this.#options.nextBatch(), what });
    if (held.mounted !== undefined && outcome.kind === 'done') this.#heardHere.push({ ...held.mounted, outcome });
    this.#options.uplink.exited(run, said, trace);
    this.#tellIfIdle();
  }

  progress(run: RunNumber, progress: UpdateProgress): void {
    const held = this.#runs.get(run);
    if (held === undefined) return;
    held.progress = progress;
    this.#options.uplink.progress(run, progress);
  }

  tookOver(run: RunNumber, from: string, paths: readonly ComponentPath[]): void {
    if (this.#runs.has(run)) this.#options.uplink.tookOver(run, from, paths);
  }

  changed(run: RunNumber, changes: readonly SourceChange[]): void {
    if (!this.#runs.has(run)) return;
    this.#changes.push({ batch: this.#options.nextBatch(), what: { run, changes } });
    this.#options.uplink.changed(run, changes);
  }

  measured(stats: RunnerStats): void {
    this.#options.uplink.measured?.(stats);
  }

  counted(census: Census): void {
    this.#census = census;
    this.#options.uplink.counted?.(census);
  }

  askCard(run: RunNumber, ask: number, milli: number): void {
    const held = this.#runs.get(run);
    if (held === undefined) {
      this.#options.engine.cardRefused(run, ask, 'its run is over');
      return;
    }
    this.#cards.asked({ run, ask, milli, update: held.order.update });
    this.#options.uplink.askCard(run, ask, milli);
  }

  cardReturned(run: RunNumber, ask: number, bodyMs: number): void {
    if (this.#cards.returned(ask)) this.#options.uplink.cardReturned(run, ask, bodyMs);
    this.#tellIfIdle();
  }

  // ---- sessions ---------------------------------------------------------------------------------------------------

  /** The turn is over: runs hear which of their children are done (J5), and so may end too, and be heard of. */
  tellHeardHere(): void {
    for (const { by, mount, outcome } of this.#heardHere) {
      const { run } = by.order.token;
      if (this.#runs.get(run) === by) this.mountEnded(run, mount, outcome);
    }
    if (this.#heardHere.length > 0) this.#heardHere = [];
  }

  /** Batches up to this one arrived. */
  acknowledged(batch: number): void {
    this.#ended = withoutUpTo(this.#ended, batch);
    this.#changes = withoutUpTo(this.#changes, batch);
  }

  /** Another operator, or one that does not know this session: orders of older epochs are refused from now on. */
  opened(epoch: number): RunnerReport {
    this.#epoch = epoch;
    for (const held of this.#runs.values()) held.mounted = undefined;
    const runs = [...this.#runs.values()].sort((a, b) => a.order.token.run - b.order.token.run);
    return {
      runs: runs.map(({ order, mounts, progress }) => ({
        order,
        mounts: [...mounts.values()].map(({ request, isStarted }) => ({ request, isStarted })),
        ...(progress === undefined ? {} : { progress }),
      })),
      ended: this.#ended.map(({ what }) => what),
      changes: this.#changes.map(({ what }) => what),
      cards: this.#cards.report(),
      ...(this.#census !== undefined && { census: this.#census }),
    };
  }

  /** The report went with this batch; what it cannot hold is said again. */
  reported(batch: number): void {
    this.#ended = this.#ended.map(({ what }) => ({ batch, what }));
    this.#changes = this.#changes.map(({ what }) => ({ batch, what }));
    for (const [run, { mounts }] of this.#runs) {
      for (const [mount, { isWithdrawn }] of mounts) if (isWithdrawn) this.#options.uplink.unmount(run, mount);
    }
  }

  /** The session is over: nothing is held any more, and the engine is told to stop (J2). `onIdle` follows when it did. */
  forsake(why: string): void {
    const runs = [...this.#runs.keys()];
    this.#runs.clear();
    this.#heardHere = [];
    this.#ended = [];
    this.#changes = [];
    this.#cards.forsake();
    for (const run of runs) this.#stopping.add(run);
    for (const run of runs) this.#options.engine.cancel(run, why);
    this.#tellIfIdle();
  }

  /**
   * The runner leaves: nothing new begins. Roots and watchers are handed back now, since they would go on mounting for as long as their
   * update lasts; other runs may end.
   */
  leave(): void {
    this.#isLeaving = true;
    for (const [run, held] of [...this.#runs]) if (isLong(held.order)) this.#handBack(run, held);
  }

  /** The time to leave is up: everything is handed back. */
  handBackAll(): void {
    for (const [run, held] of [...this.#runs]) this.#handBack(run, held);
  }

  /** J3. */
  #isRefused(token: FencingToken): boolean {
    if (token.epoch !== this.#epoch) return true;
    const held = this.#runs.get(token.run);
    return held !== undefined && compareTokens(token, held.order.token) <= 0;
  }

  #tellIfIdle(): void {
    if (this.isIdle) this.#options.onIdle?.();
  }

  #handBack(run: RunNumber, held: HeldRun): void {
    if (held.isHandedBack) return;
    held.isHandedBack = true;
    this.#options.engine.cancel(run, HANDED_BACK);
  }
}

const isLong = ({ kind }: RunOrder): boolean => kind === 'cycle' || kind === 'pipeline' || kind === 'watch';

function handedBack({ order }: HeldRun): RunOutcome {
  const error = { class: 'lost', message: HANDED_BACK } as const;
  const { resume } = order;
  return { kind: 'parked', resumeAfterMs: 0, error, ...(resume === undefined ? {} : { resume }) };
}

function withoutUpTo<T>(list: Unacknowledged<T>[], batch: number): Unacknowledged<T>[] {
  let count = 0;
  while (count < list.length && list[count]!.batch <= batch) count++;
  return count === 0 ? list : list.slice(count);
}
