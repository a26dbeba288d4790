// Mounts an update's work as the slots allow, from its first entry on, until all of it ended.
import { itemPath, type MountRequest, type RunNumber, type RunOutcome } from '../protocol/index.ts';
import { WorkFeed } from './feed.ts';
import { itemComponent } from './plan.ts';
import type { Entered, NewWork, WorkEntry } from './ports.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import type { Tally } from './tally.ts';

/** Most keys of one message about work that was taken over. */
const TOLD_MAX = 1_000;
/** Most paths that are remembered as taken over; beyond that the run finds out when it begins. */
const TAKEN_MAX = 10_000;
/** Most keys that are remembered as done before the listing came to them; beyond that they are counted twice. */
const EARLY_MAX = 100_000;

export class Worker {
  readonly #run: Run;
  readonly #services: Services;
  readonly #tally: Tally;
  readonly #feed: WorkFeed;
  readonly #done = Promise.withResolvers<void>();
  /** Paths that other updates took over and that may still be in the feed. */
  readonly #taken = new Set<string>();
  /** Keys of adopted work that ended while the listing still goes on: it will come to them, and they are counted. */
  readonly #early = new Set<string>();
  /** Number of the first entry that this run entered itself; those before it are adopted. */
  #firstOwn = Number.POSITIVE_INFINITY;
  #mounted = 0;
  #isComplete = false;
  #isPumping = false;
  #isLoading = false;

  constructor(run: Run, services: Services, tally: Tally, adopted: number) {
    this.#run = run;
    this.#services = services;
    this.#tally = tally;
    this.#feed = new WorkFeed(services.state, run.order.update, adopted > 0);
    this.#done.promise.catch(() => {});
    services.workers.set(run.order.update, this);
    tally.expect(adopted);
    run.mounts.onChange = () => this.#pump();
    this.#pump();
  }

  /** Enters work and goes on mounting. Answers how many of it this update now does. */
  async enter(work: readonly NewWork[]): Promise<number> {
    if (work.length === 0) return 0;
    const { cancellation } = this.#run;
    const entered = await cancellation.race(this.#services.state.enter(work));
    const added = entered.filter(isAdded);
    const isNew = added.filter((result) => result.kind === 'entered' || this.#isFromAnother(result));
    this.#firstOwn = Math.min(this.#firstOwn, added[0]?.seq ?? Number.POSITIVE_INFINITY);
    this.#tally.expect(isNew.length);
    if (isNew.length < entered.length) this.#tellOthers(work, entered);
    if (this.#taken.size > 0) this.#takeBack(work, entered);
    this.#feed.offer(added.length, added.at(-1)?.seq ?? 0, () =>
      work.flatMap((wanted, index) => entryOf(wanted, entered[index])),
    );
    this.#pump();
    return added.length;
  }

  /** What was taken over is this update's again. */
  #takeBack(work: readonly NewWork[], entered: readonly Entered[]): void {
    entered.forEach((result, index) => {
      const wanted = work[index];
      if (wanted !== undefined && isAdded(result)) this.#taken.delete(itemPath(wanted.source, wanted.key));
    });
  }

  /** Nothing more will be entered: resolves when all work of the update ended. */
  async finish(): Promise<void> {
    this.#isComplete = true;
    this.#pump();
    await this.#run.cancellation.race(this.#done.promise);
    this.#tally.closeWith(this.#mounted);
  }

  /** Another update of this runner took these over: what is not mounted yet never will be. */
  lose(paths: readonly string[]): void {
    for (const path of paths) {
      this.#services.fresh.delete(path);
      if (this.#taken.size < TAKEN_MAX) this.#taken.add(path);
    }
  }

  #isFromAnother(result: Entered): boolean {
    return result.kind === 'tookOver' && result.from !== this.#run.order.update;
  }

  #tellOthers(work: readonly NewWork[], entered: readonly Entered[]): void {
    const paths = new Map<string, string[]>();
    entered.forEach((result, index) => {
      const wanted = work[index];
      if (wanted === undefined || result.kind !== 'tookOver' || !this.#isFromAnother(result)) return;
      const list = paths.get(result.from) ?? [];
      list.push(itemPath(wanted.source, wanted.key));
      paths.set(result.from, list);
    });
    for (const [update, list] of paths) {
      for (let at = 0; at < list.length; at += TOLD_MAX) {
        tellTookOver(this.#services, this.#run.number, update, list.slice(at, at + TOLD_MAX));
      }
    }
  }

  /** Mounts what fits. Called again from within `mount` when the far side answers at once. */
  #pump(): void {
    if (this.#isPumping || this.#run.cancellation.isCancelled) return;
    this.#isPumping = true;
    const { mounts } = this.#run;
    while (mounts.hasRoom) {
      const entry = this.#feed.next();
      if (entry === undefined) break;
      if (this.#taken.size > 0 && this.#taken.delete(itemPath(entry.source, entry.key))) continue;
      this.#mounted += 1;
      const request = this.#request(entry);
      if (entry.fresh === true && entry.seq >= this.#firstOwn) this.#services.fresh.set(request.path, entry);
      if (entry.seq < this.#firstOwn) this.#services.caution.takeOver(request.path);
      mounts.mount(request, (outcome) => this.#ended(entry, request.path, outcome));
    }
    this.#isPumping = false;
    if (this.#feed.isBehind && mounts.hasRoom) this.#load();
    else if (this.#isComplete && !this.#isLoading && !this.#feed.isBehind && mounts.open === 0) this.#done.resolve();
  }

  #load(): void {
    if (this.#isLoading) return;
    this.#isLoading = true;
    this.#feed
      .load()
      .catch((error: unknown) => this.#done.reject(error))
      .finally(() => {
        this.#isLoading = false;
        this.#pump();
      });
  }

  #ended({ key, seq }: WorkEntry, path: string, outcome: RunOutcome): void {
    this.#services.fresh.delete(path);
    this.#services.caution.isOver(path);
    const isEarly = seq < this.#firstOwn && !this.#tally.listed && this.#early.size < EARLY_MAX;
    if (isEarly && outcome.kind !== 'superseded') this.#early.add(key);
    this.#tally.ended(outcome);
  }

  /** Whether adopted work on this key ended and was counted already; asked once a key, when the listing comes to it. */
  wasEarly(key: string): boolean {
    return this.#early.size > 0 && this.#early.delete(key);
  }

  #request(entry: WorkEntry): Omit<MountRequest, 'mount'> {
    const { fingerprint, runnerClass, milliCards } = itemComponent(this.#services.plan);
    const isDelete = entry.action === 'delete';
    const request: { -readonly [K in keyof MountRequest]?: MountRequest[K] } & Pick<MountRequest, 'path' | 'kind'> = {
      path: itemPath(entry.source, entry.key),
      kind: isDelete ? 'delete' : 'item',
      source: entry.source,
      key: entry.key,
      version: isDelete ? 'delete' : `${entry.version} ${fingerprint}`,
      rows: 1,
    };
    if (entry.sizeBytes !== undefined) request.bytes = entry.sizeBytes;
    if (runnerClass !== undefined) request.runnerClass = runnerClass;
    if (milliCards !== undefined && !isDelete) request.milliCards = milliCards;
    if (entry.reprocess === true) {
      request.reprocess = true;
      // Two full reprocesses are two operations: neither takes the other's outcome for its own.
      request.version += ` ${entry.update}`;
    }
    return request;
  }
}

/** Tells the update that had the work, wherever its root run executes. */
export function tellTookOver(services: Services, run: RunNumber, from: string, paths: readonly string[]): void {
  services.workers.get(from)?.lose(paths);
  services.uplink.tookOver(run, from, paths);
}

type Added = Extract<Entered, { readonly seq: number }>;

const isAdded = (result: Entered): result is Added => result.kind === 'entered' || result.kind === 'tookOver';

function entryOf(wanted: NewWork, result: Entered | undefined): WorkEntry[] {
  if (result === undefined || !isAdded(result)) return [];
  return [{ ...wanted, seq: result.seq, losses: 0, fresh: result.kind === 'entered' && result.fresh === true }];
}
