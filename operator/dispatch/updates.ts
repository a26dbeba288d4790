// Live sources and updates while they are open.
//   D5. An update is over when its root run is; its branch closes with its last run.
//   D7. A cancelled update starts nothing more: what waits ends now, what executes is told, what is mounted meanwhile is refused.
//   D8. Closing a source ends its watcher, the live sources that its components mounted, and its updates; its branch closes when the last of them is over.
import {
  type ComponentPath,
  type Counts,
  childPath,
  itemPath,
  type MountRequest,
  NO_COUNTS,
  type RunOrder,
  type RunOutcome,
  type SourceChange,
  type UpdateProgress,
  updateResult,
} from '../../runner/protocol/index.ts';
import type { AdmissionTree } from '../admission/index.ts';
import type { Clock } from '../clock.ts';
import type { Cards } from './cards.ts';
import type { LiveRun } from './live-run.ts';
import { OpenSource, OpenUpdate, type SourceSettings, type SourceStart } from './open-update.ts';
import type { Outbox } from './outbox.ts';
import type { DispatchEvents } from './ports.ts';
import type { Runs } from './runs.ts';
import type { TakenRuns } from './taken-runs.ts';
import type { Cause, UpdateEnding, UpdateObserver, UpdateStart, UpdateView } from './update.ts';
import type { Watchers } from './watchers.ts';

/** What runs of items need of their runner. */
export type ItemNeeds = Pick<MountRequest, 'runnerClass' | 'milliCards'>;

export interface UpdatesOptions {
  readonly tree: AdmissionTree;
  readonly runs: Runs;
  readonly taken: TakenRuns;
  readonly watchers: Watchers;
  readonly cards: Cards;
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
  /** LiveSources by name. */
  readonly #sources = new Map<string, OpenSource>();
  /** Live sources that components mounted. */
  readonly #mounted = new Set<OpenSource>();
  readonly #open = new Map<string, OpenUpdate>();
  #opened = 0;

  constructor(options: UpdatesOptions) {
    this.#options = options;
  }

  // ---- live sources -----------------------------------------------------------------------------------------------

  openSource(start: SourceStart): void {
    if (this.#sources.has(start.name)) throw new Error(`a live source named ${start.name} is open already`);
    const { tree, cards } = this.#options;
    const { name, weight, limits } = start;
    const settings = { ...(weight === undefined ? {} : { weight }), ...(limits === undefined ? {} : { limits }) };
    const source = new OpenSource(start, childPath('', name), tree.openSource(tree.pool, name, settings));
    this.#sources.set(name, source);
    cards.setWeight(source, weight ?? 1);
  }

  /** New weight and limits; they decide the next freed slot, for what waits already too (F70). */
  editSource(name: string, settings: SourceSettings): void {
    const { tree, runs, cards } = this.#options;
    const source = this.#source(name);
    tree.setWeight(source.branch, settings.weight ?? 1);
    cards.setWeight(source, settings.weight ?? 1);
    runs.start(tree.setLimits(source.branch, settings.limits ?? {}));
  }

  closeSource(name: string, why: string): void {
    const source = this.#source(name);
    this.#sources.delete(name);
    this.#closeSource(source, why);
  }

  /** Puts the source's watcher onto a runner, and keeps it there. */
  watchSource(name: string, runnerClass?: string): void {
    const source = this.#source(name);
    if (source.watcher !== undefined) return;
    const request: MountRequest = {
      mount: 0,
      path: childPath('', name),
      kind: 'watch',
      source: name,
      ...(runnerClass === undefined ? {} : { runnerClass }),
    };
    const bracket = this.#bracket(`${name}-watch`, { kind: 'cycle', source: name, trigger: 'watch' }, request, source);
    source.watcher = this.#options.runs.create(request, bracket, undefined);
    this.#options.watchers.open(source.watcher, false);
  }

  unwatchSource(name: string): void {
    const { watcher } = this.#source(name);
    if (watcher !== undefined) this.#options.watchers.stop(watcher, 'the source is not watched any more');
  }

  /** A component mounts a live source: it stands under the live source whose update mounted it, and borrows that run's slot (A8). */
  mountSource(parent: LiveRun, request: MountRequest): void {
    const { tree, runs, watchers } = this.#options;
    if (parent.state.phase !== 'executing' || watchers.has(request)) return;
    const { update } = parent;
    const branch = tree.openSource(update.of?.branch ?? tree.pool, request.path, { mountedBy: parent.state.ask });
    const source = new OpenSource({ name: request.path }, request.path, branch, update.of);
    source.watcher = runs.create(request, this.#bracket(update.name, update.start, request, source), parent);
    this.#mounted.add(source);
    watchers.open(source.watcher, true);
  }

  /** A watcher is over for good. What a mounted live source still has goes on, and its branch closes with the last of it. */
  watcherClosed(run: LiveRun): void {
    const source = run.update.of;
    if (source?.watcher !== run) return;
    source.watcher = undefined;
    if (this.#sources.get(source.name) === source) return;
    source.isClosing = true;
    this.#closeIfEmpty(source);
  }

  changed(watcher: LiveRun, changes: readonly SourceChange[]): void {
    this.#options.watchers.saw(watcher);
    const onChanged = watcher.update.of?.onChanged;
    if (onChanged !== undefined) this.#tell(() => onChanged(changes));
  }

  // ---- updates ----------------------------------------------------------------------------------------------------

  /** Opens an update; its root run asks for a slot at once. */
  startUpdate(start: UpdateStart): UpdateView {
    const source = start.source === undefined ? undefined : this.#source(start.source);
    const path = pathOf(start);
    const needs = start.kind === 'key' ? this.#options.itemNeeds() : {};
    return this.#begin(start, { ...needs, ...rootRequest(start, path) }, source, undefined);
  }

  /** A live source that a component mounted makes an update: its root run is a child of the watcher. */
  mountUpdate(watcher: LiveRun, request: MountRequest): void {
    const { source, key } = request;
    const start: UpdateStart = {
      kind: key === undefined ? 'cycle' : 'key',
      trigger: 'live',
      ...(source === undefined ? {} : { source }),
      ...(key === undefined ? {} : { key }),
    };
    this.#begin(start, request, watcher.update.of, watcher);
  }

  /** What made an update that is open and has not begun; one that has begun may have looked already. */
  joinUpdate(name: string, cause: Cause): void {
    this.#open.get(name)?.joinedBy(cause);
  }

  cancelUpdate(name: string, why: string): void {
    const update = this.#open.get(name);
    if (update !== undefined) this.#cancel(update, why);
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
    update.of?.updates.delete(update);
    if (update.of !== undefined) this.#closeIfEmpty(update.of);
    runs.start(granted);
  }

  // ---- taking over ------------------------------------------------------------------------------------------------

  /** The update that a reported run belongs to. Undefined: its live source is not there any more. */
  adopt(order: RunOrder): OpenUpdate | undefined {
    const known = this.#open.get(order.update);
    if (known !== undefined) return known;
    const source = order.updateOf === undefined ? undefined : this.#sourceAt(order);
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

  /** A live source that a component mounted, and its watcher. */
  adoptSource(order: RunOrder, request: MountRequest, mounter: LiveRun | undefined): LiveRun {
    const { tree, taken } = this.#options;
    const mountedBy = mounter?.state.phase === 'executing' ? { mountedBy: mounter.state.ask } : {};
    const above = order.updateOf === undefined ? undefined : this.#sourceAt(order);
    const branch = tree.openSource(above?.branch ?? tree.pool, order.path, mountedBy);
    const source = new OpenSource({ name: order.path }, order.path, branch, above);
    const run = taken.adoptWatcher(
      order,
      request,
      this.#bracket(order.update, startOf(order), request, source),
      mounter,
    );
    source.watcher = run;
    this.#mounted.add(source);
    return run;
  }

  /** What a run mounts: a live source, an update of one, or a run of its own update. */
  mount(parent: LiveRun, request: MountRequest): void {
    const { runs, watchers } = this.#options;
    if (request.kind === 'watch') this.mountSource(parent, request);
    else if (parent.kind === 'watch') this.mountUpdate(parent, request);
    else {
      const run = runs.create(request, parent.update, parent);
      if (request.kind === 'delete') watchers.clear(run.path, () => runs.askUnlessOver(run));
      else runs.ask(run);
    }
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

  /** Stands for the update in what a watcher is told; it is none, so nobody waits for its end. */
  #bracket(name: string, start: UpdateStart, request: MountRequest, source: OpenSource): OpenUpdate {
    const place = { path: request.path, branch: source.branch, of: source };
    return new OpenUpdate(name, start, place, this.#options.clock.nowMs());
  }

  /** D7. */
  #cancel(update: OpenUpdate, why: string): void {
    if (update.cancelledWhy !== undefined) return;
    update.cancelledWhy = why;
    const { runs } = this.#options;
    for (const orphan of [...update.orphans]) runs.cancelAll(orphan, why);
    if (update.root !== undefined && update.ending === undefined) runs.cancelAll(update.root, why);
  }

  /** D8. */
  #closeSource(source: OpenSource, why: string): void {
    source.isClosing = true;
    const { watcher } = source;
    if (watcher !== undefined) this.#options.watchers.stop(watcher, why);
    this.#options.watchers.stopBelow(source.path, why);
    for (const update of [...source.updates]) this.#cancel(update, why);
    this.#closeIfEmpty(source);
  }

  #closeIfEmpty(source: OpenSource): void {
    if (!source.isClosing || source.updates.size > 0) return;
    source.isClosing = false;
    this.#mounted.delete(source);
    const { tree, runs, cards } = this.#options;
    cards.setWeight(source, 1);
    runs.start(tree.remove(source.branch).granted);
  }

  #source(name: string): OpenSource {
    const source = this.#sources.get(name);
    if (source === undefined) throw new Error(`no live source named ${name} is open`);
    return source;
  }

  /** The live source of an order's update. A mounted one that has not been reported: the LiveSource above it stands in. */
  #sourceAt({ updateOf, source }: RunOrder): OpenSource | undefined {
    for (const mounted of this.#mounted) if (mounted.path === updateOf) return mounted;
    for (const open of this.#sources.values()) if (open.path === updateOf) return open;
    return source === undefined ? undefined : this.#sources.get(source);
  }

  #tell(tell: () => void): void {
    this.#options.outbox.post(tell);
  }
}

function pathOf(start: UpdateStart): ComponentPath {
  if (start.source === undefined) return '';
  return start.key === undefined ? childPath('', start.source) : itemPath(start.source, start.key);
}

const ROOT_KINDS = { pipeline: 'pipeline', cycle: 'cycle', key: 'item', drop: 'delete' } as const;

function rootRequest(start: UpdateStart, path: ComponentPath): MountRequest {
  const { source, key, input, reprocess, runnerClass } = start;
  return {
    mount: 0,
    path,
    kind: ROOT_KINDS[start.kind],
    ...(source === undefined ? {} : { source }),
    ...(key === undefined ? {} : { key }),
    ...(input === undefined ? {} : { input }),
    ...(reprocess === undefined ? {} : { reprocess }),
    ...(runnerClass === undefined ? {} : { runnerClass }),
  };
}

/** What is known of an update from one of its runs. */
function startOf({ kind, source, key, trigger, updateOf, parentRun, traceparent }: RunOrder): UpdateStart {
  const ofKey = kind === 'item' && parentRun === undefined && key !== undefined ? { key } : {};
  const isDrop = kind === 'delete' && parentRun === undefined;
  return {
    kind: isDrop ? 'drop' : updateOf === undefined ? 'pipeline' : 'key' in ofKey ? 'key' : 'cycle',
    trigger: trigger ?? 'unknown',
    ...(source === undefined || updateOf === undefined ? {} : { source }),
    ...ofKey,
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

/** What an update counted; one that was cut short keeps what it had reported. */
function countsOf(outcome: RunOutcome, reported: Counts): Counts {
  if (outcome.kind === 'done' || outcome.kind === 'failed') return outcome.counts;
  return outcome.kind === 'superseded' ? { ...NO_COUNTS, superseded: 1 } : reported;
}
