// Updates while they are open.
//   D5. An update is over when its root run is; its branch closes with its last run.
//   D7. A cancelled update starts nothing more: what waits ends now, what executes is told, what is mounted meanwhile is refused.
import {
  type Counts,
  type MountRequest,
  NO_COUNTS,
  type RunOrder,
  type RunOutcome,
  type UpdateProgress,
  updateResult,
} from '../../runner/protocol/index.ts';
import type { AdmissionTree } from '../admission/index.ts';
import type { Clock } from '../clock.ts';
import type { LiveRun } from './live-run.ts';
import { type OpenSource, OpenUpdate } from './open-update.ts';
import type { Outbox } from './outbox.ts';
import type { DispatchEvents } from './ports.ts';
import type { Runs } from './runs.ts';
import type { Sources } from './sources.ts';
import type { Cause, UpdateEnding, UpdateObserver, UpdateStart, UpdateView } from './update.ts';
import { mountedStart, rootRequest, startOf } from './update-start.ts';
import type { Watchers } from './watchers.ts';

/** What runs of items need of their runner. */
export type ItemNeeds = Pick<MountRequest, 'runnerClass' | 'milliCards'>;

export interface UpdatesOptions {
  readonly tree: AdmissionTree;
  readonly runs: Runs;
  readonly sources: Sources;
  readonly watchers: Watchers;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly epoch: number;
  readonly events: DispatchEvents;
  readonly itemNeeds: () => ItemNeeds;
  /** Nobody who could still report is missing. */
  readonly isSettled: () => boolean;
  /** An update that an earlier operator opened goes on here. */
  readonly onAdopted: ((update: UpdateView) => void) | undefined;
  readonly traceparentOf: (update: UpdateView) => string | undefined;
}

export class Updates {
  readonly #options: UpdatesOptions;
  readonly #open = new Map<string, OpenUpdate>();
  #opened = 0;

  constructor(options: UpdatesOptions) {
    this.#options = options;
  }

  /** Opens an update; its root run asks for a slot at once. */
  startUpdate(start: UpdateStart): UpdateView {
    const source = start.source === undefined ? undefined : this.#options.sources.named(start.source);
    const needs = start.kind === 'key' ? this.#options.itemNeeds() : {};
    return this.#begin(start, { ...needs, ...rootRequest(start) }, source, undefined);
  }

  /** A live source that a component mounted makes an update: its root run is a child of the watcher. */
  mountUpdate(watcher: LiveRun, request: MountRequest): void {
    this.#begin(mountedStart(request), request, watcher.update.of, watcher);
  }

  /** What made an update that is open and has not begun; one that has begun may have looked already. */
  joinUpdate(name: string, cause: Cause): void {
    this.#open.get(name)?.joinedBy(cause);
  }

  cancelUpdate(name: string, why: string): void {
    const update = this.#open.get(name);
    if (update !== undefined) this.cancel(update, why);
  }

  /** D7. */
  cancel(update: OpenUpdate, why: string): void {
    if (update.cancelledWhy !== undefined) return;
    update.cancelledWhy = why;
    const { runs } = this.#options;
    for (const orphan of [...update.orphans]) runs.cancelAll(orphan, why);
    if (update.root !== undefined && update.ending === undefined) runs.cancelAll(update.root, why);
  }

  progress(root: LiveRun, progress: UpdateProgress): void {
    const { update } = root;
    if (update.root !== root) return;
    update.progress = progress;
    const { observer } = update;
    if (observer?.progress !== undefined) this.#tell(() => observer.progress?.(update));
  }

  /** Its root run begins, for the first time. */
  started(update: OpenUpdate): void {
    update.startedAtMs = this.#options.clock.nowMs();
    const { observer } = update;
    if (observer?.started !== undefined) this.#tell(() => observer.started?.(update));
  }

  /** Its root run is over (D5). */
  ended(update: OpenUpdate, outcome: RunOutcome): void {
    const counts = countsOf(outcome, update.progress.counts);
    const ending: UpdateEnding = { result: updateResult(outcome), counts, outcome };
    update.ending = ending;
    this.#open.delete(update.name);
    this.#options.events.updateEnded?.(update, ending);
    const { observer } = update;
    if (observer?.ended !== undefined) this.#tell(() => observer.ended?.(update, ending));
  }

  /** Its last run is over. */
  empty(update: OpenUpdate): void {
    if (update.isBracket) return;
    const { tree, runs } = this.#options;
    if (update.root === undefined && this.#open.has(update.name) && !this.#options.isSettled()) return;
    this.#open.delete(update.name);
    const { granted } = tree.remove(update.branch);
    if (update.of !== undefined) this.#options.sources.updateLeft(update.of, update);
    runs.start(granted);
  }

  // ---- taking over ------------------------------------------------------------------------------------------------

  /** The update that a reported run belongs to. Undefined: its live source is not there any more. */
  adopt(order: RunOrder): OpenUpdate | undefined {
    const known = this.#open.get(order.update);
    if (known !== undefined) return known;
    const source = this.#options.sources.at(order);
    if (order.updateOf !== undefined && source === undefined) return undefined;
    const { tree, clock } = this.#options;
    const branch = tree.openUpdate(source?.branch ?? tree.pool, order.update);
    const update = new OpenUpdate(
      order.update,
      startOf(order),
      { path: order.path, branch, of: source },
      clock.nowMs(),
    );
    update.startedAtMs = clock.nowMs();
    update.traceparent = this.#options.traceparentOf(update);
    this.#open.set(update.name, update);
    source?.updates.add(update);
    return update;
  }

  /** A run of the update was taken over; who runs triggers hears of it once. */
  adopted(update: OpenUpdate): void {
    if (update.isAnnounced || update.root === undefined || update.isBracket) return;
    update.isAnnounced = true;
    this.#options.events.updateOpened?.(update);
    const { onAdopted } = this.#options;
    if (onAdopted === undefined) return;
    this.#tell(() => {
      if (update.ending === undefined) onAdopted(update);
    });
  }

  /** What a run mounts: a live source, an update of one, or a run of its own update. */
  mount(parent: LiveRun, request: MountRequest): void {
    if (request.kind === 'watch') this.#options.sources.mount(parent, request);
    else if (parent.kind === 'watch') this.mountUpdate(parent, request);
    else this.ask(this.#options.runs.create(request, parent.update, parent));
  }

  /** Asks for a slot for a run that was mounted; a removal waits for the live sources below its component first. */
  ask(run: LiveRun): void {
    const { runs, watchers } = this.#options;
    if (run.kind === 'delete') watchers.clear(run.path, () => runs.askUnlessOver(run));
    else runs.askUnlessOver(run);
  }

  /** Where runs stand that nobody wants any more and that have not stopped. */
  openForCondemned(): OpenUpdate {
    const { tree, clock } = this.#options;
    const name = 'not taken over';
    const branch = tree.openUpdate(tree.pool, name);
    return new OpenUpdate(
      name,
      { kind: 'pipeline', trigger: name },
      { path: '', branch, of: undefined },
      clock.nowMs(),
    );
  }

  dropIfEmpty(update: OpenUpdate): void {
    if (update.liveRuns === 0 && update.root === undefined) this.empty(update);
  }

  /** Updates whose root run nobody reported: what is left of them ends by itself, and the work list keeps what they wanted. */
  closeRootless(): void {
    for (const update of [...this.#open.values()]) {
      if (update.root !== undefined) continue;
      this.#open.delete(update.name);
      if (update.liveRuns === 0) this.empty(update);
    }
  }

  observe(name: string, observer: UpdateObserver): void {
    const update = this.#open.get(name);
    if (update !== undefined) update.observer = observer;
  }

  opened(name: string): OpenUpdate | undefined {
    return this.#open.get(name);
  }

  get open(): ReadonlyMap<string, UpdateView> {
    return this.#open;
  }

  #begin(
    start: UpdateStart,
    request: MountRequest,
    source: OpenSource | undefined,
    watcher: LiveRun | undefined,
  ): UpdateView {
    const { tree, runs, epoch, clock, events } = this.#options;
    const name = `${start.source ?? 'pipeline'}-${epoch}-${++this.#opened}`;
    const branch = tree.openUpdate(source?.branch ?? tree.pool, name);
    const update = new OpenUpdate(name, start, { path: request.path, branch, of: source }, clock.nowMs());
    update.traceparent = this.#options.traceparentOf(update);
    this.#open.set(name, update);
    source?.updates.add(update);
    events.updateOpened?.(update);
    update.root = runs.create(request, update, watcher);
    runs.ask(update.root);
    return update;
  }

  #tell(tell: () => void): void {
    this.#options.outbox.post(tell);
  }
}

/** What an update counted; one that was cut short keeps what it had reported. */
function countsOf(outcome: RunOutcome, reported: Counts): Counts {
  if (outcome.kind === 'done' || outcome.kind === 'failed') return outcome.counts;
  return outcome.kind === 'superseded' ? { ...NO_COUNTS, superseded: 1 } : reported;
}
