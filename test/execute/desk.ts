// A stand-in for the dispatcher, for tests of the engine alone: so many slots, first come first served, one execution of a path at a time.
// Root runs and runs that mounted something hold no slot here; who is served when is the tree's matter and tested there.
import type { Engine } from '../../runner/execute/index.ts';
import type {
  Census,
  MountRequest,
  RunNumber,
  RunOrder,
  RunOutcome,
  SourceChange,
  UpdateProgress,
  Uplink,
} from '../../runner/protocol/index.ts';

interface Live {
  readonly order: RunOrder;
  readonly mount?: number;
  started: boolean;
  /** Mounted something: it holds no slot any more. */
  isParent?: boolean;
  readonly onEnd?: (outcome: RunOutcome) => void;
}

export class Desk implements Uplink {
  readonly changes: SourceChange[] = [];
  readonly censuses: Census[] = [];
  readonly progresses = new Map<RunNumber, UpdateProgress>();
  /** Paths of runs in the order in which they began, root runs left out. */
  readonly begun: string[] = [];
  executing = 0;
  executingMax = 0;
  waitingMax = 0;
  slots: number;
  readonly #engine: Engine;
  readonly #epoch: number;
  readonly #live = new Map<RunNumber, Live>();
  readonly #busy = new Set<string>();
  #waiting: Live[] = [];
  #next = 1;
  #updates = 1;

  constructor(engine: Engine, slots: number, epoch = 1) {
    this.#engine = engine;
    this.slots = slots;
    this.#epoch = epoch;
    engine.connect(this);
  }

  get openRuns(): number {
    return this.#live.size;
  }

  /** Starts a root run; its end resolves. */
  root(order: Partial<RunOrder> & Pick<RunOrder, 'kind'>): { run: RunNumber; ended: Promise<RunOutcome> } {
    const { promise, resolve } = Promise.withResolvers<RunOutcome>();
    const run = this.#next++;
    const full = {
      path: '',
      update: `u${this.#updates++} of ${this.#epoch}`,
      openUpdates: [...this.#live.values()].map((live) => live.order.update),
      ...order,
      token: { epoch: this.#epoch, run, attempt: 1 },
    };
    this.#live.set(run, { order: full, started: true, onEnd: resolve });
    this.#engine.start(full);
    return { run, ended: promise };
  }

  cycle(source: string, more: Partial<RunOrder> = {}): Promise<RunOutcome> {
    return this.root({ kind: 'cycle', source, path: source, ...more }).ended;
  }

  mount(parent: RunNumber, { mount, ...request }: MountRequest): void {
    const mounting = this.#live.get(parent);
    if (mounting !== undefined && mounting.order.parentRun !== undefined && mounting.isParent !== true) {
      mounting.isParent = true;
      this.executing -= 1;
    }
    const order: RunOrder = {
      ...request,
      update: this.#live.get(parent)?.order.update ?? '',
      parentRun: parent,
      token: { epoch: this.#epoch, run: this.#next++, attempt: 1 },
    };
    const live: Live = { order, mount, started: false };
    this.#live.set(order.token.run, live);
    this.#waiting.push(live);
    this.waitingMax = Math.max(this.waitingMax, this.#waiting.length);
    this.serve();
  }

  unmount(parent: RunNumber, mount: number): void {
    for (const [run, live] of this.#live) {
      if (live.order.parentRun !== parent || live.mount !== mount) continue;
      if (live.started) this.#engine.cancel(run, 'its parent withdrew it');
      else this.#end(run, { kind: 'cancelled', why: 'withdrawn' });
    }
  }

  exited(run: RunNumber, outcome: RunOutcome): void {
    const live = this.#live.get(run);
    if (live === undefined) return;
    if (live.order.parentRun !== undefined) {
      if (live.isParent !== true) this.executing -= 1;
      this.#busy.delete(live.order.path);
    }
    if (outcome.kind === 'parked') this.#park(live, outcome);
    else this.#end(run, outcome);
    this.serve();
  }

  counted(census: Census): void {
    this.censuses.push(census);
  }

  progress(run: RunNumber, progress: UpdateProgress): void {
    this.progresses.set(run, progress);
  }

  tookOver(_run: RunNumber, from: string, paths: readonly string[]): void {
    for (const [run, live] of this.#live) {
      if (live.started || live.order.update !== from || !paths.includes(live.order.path)) continue;
      this.#end(run, { kind: 'superseded' });
    }
  }

  changed(_run: RunNumber, changes: readonly SourceChange[]): void {
    this.changes.push(...changes);
  }

  /** Cards of the runner; every ask gets the next one at once. */
  cards = 0;
  readonly returned: { readonly ask: number; readonly bodyMs: number }[] = [];

  askCard(run: RunNumber, ask: number, milli: number): void {
    if (this.cards === 0) this.#engine.cardRefused(run, ask, 'this runner has no cards');
    else this.#engine.cardGranted(run, ask, { cards: [ask % this.cards], milliShare: Math.min(1000, milli) });
  }

  cardReturned(_run: RunNumber, ask: number, bodyMs: number): void {
    this.returned.push({ ask, bodyMs });
  }

  /** Parked runs, with what starts them again. */
  readonly parked: { readonly path: string; readonly afterMs: number; readonly resume: () => void }[] = [];

  #park(live: Live, outcome: Extract<RunOutcome, { kind: 'parked' }>): void {
    const { token } = live.order;
    const order: RunOrder = {
      ...live.order,
      token: { ...token, attempt: token.attempt + 1 },
      ...(outcome.resume === undefined ? {} : { resume: outcome.resume }),
    };
    const again = { ...live, isParent: false, order, started: live.order.parentRun === undefined };
    this.#live.set(token.run, again);
    const resume = (): void => {
      if (order.parentRun === undefined) this.#engine.start(order);
      else {
        this.#waiting.push(again);
        this.serve();
      }
    };
    this.parked.push({ path: order.path, afterMs: outcome.resumeAfterMs, resume });
  }

  #end(run: RunNumber, outcome: RunOutcome): void {
    const live = this.#live.get(run);
    if (live === undefined) return;
    this.#live.delete(run);
    this.#waiting = this.#waiting.filter((waiting) => waiting !== live);
    live.onEnd?.(outcome);
    if (live.order.parentRun !== undefined && live.mount !== undefined) {
      this.#engine.mountEnded(live.order.parentRun, live.mount, outcome);
    }
  }

  /** Starts what may start. */
  serve(): void {
    while (this.executing < this.slots) {
      const index = this.#waiting.findIndex(({ order }) => !this.#busy.has(order.path));
      const [live] = index < 0 ? [] : this.#waiting.splice(index, 1);
      if (live === undefined) return;
      live.started = true;
      this.executing += 1;
      this.executingMax = Math.max(this.executingMax, this.executing);
      this.#busy.add(live.order.path);
      this.begun.push(live.order.path);
      if (live.order.parentRun !== undefined) this.#engine.mountStarted(live.order.parentRun, live.mount ?? 0);
      this.#engine.start(live.order);
    }
  }
}
