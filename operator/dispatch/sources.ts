// Live sources while they are open: LiveSources by name, and those that components mounted.
//   D8. Closing a source ends its watcher, the live sources that its components mounted, and the updates of all these; its branch closes when the
//       last of them is over.
import { childPath, type MountRequest, type RunOrder, type SourceChange } from '../../runner/protocol/index.ts';
import type { AdmissionTree } from '../admission/index.ts';
import type { Clock } from '../clock.ts';
import type { Cards } from './cards.ts';
import type { LiveRun } from './live-run.ts';
import { OpenSource, OpenUpdate, type SourceSettings, type SourceStart } from './open-update.ts';
import type { Outbox } from './outbox.ts';
import type { Runs } from './runs.ts';
import type { TakenRuns } from './taken-runs.ts';
import type { UpdateStart } from './update.ts';
import { startOf } from './update-start.ts';
import type { Watchers } from './watchers.ts';

export interface SourcesOptions {
  readonly tree: AdmissionTree;
  readonly runs: Runs;
  readonly taken: TakenRuns;
  readonly watchers: Watchers;
  readonly cards: Cards;
  readonly outbox: Outbox;
  readonly clock: Clock;
  /** An update of a source that closes is to end (D7). */
  readonly cancel: (update: OpenUpdate, why: string) => void;
}

export class Sources {
  readonly #options: SourcesOptions;
  /** LiveSources. */
  readonly #named = new Map<string, OpenSource>();
  readonly #mounted = new Set<OpenSource>();

  constructor(options: SourcesOptions) {
    this.#options = options;
  }

  open(start: SourceStart): void {
    if (this.#named.has(start.name)) throw new Error(`a live source named ${start.name} is open already`);
    const { tree, cards } = this.#options;
    const { name, weight, limits } = start;
    const settings = { ...(weight === undefined ? {} : { weight }), ...(limits === undefined ? {} : { limits }) };
    const source = new OpenSource(start, childPath('', name), tree.openSource(tree.pool, name, settings));
    this.#named.set(name, source);
    cards.setWeight(source, weight ?? 1);
  }

  /** New weight and limits; they decide the next freed slot, for what waits already too (F70). */
  edit(name: string, settings: SourceSettings): void {
    const { tree, runs, cards } = this.#options;
    const source = this.named(name);
    tree.setWeight(source.branch, settings.weight ?? 1);
    cards.setWeight(source, settings.weight ?? 1);
    runs.start(tree.setLimits(source.branch, settings.limits ?? {}));
  }

  /** D8. */
  close(name: string, why: string): void {
    const source = this.named(name);
    const { watchers, cancel } = this.#options;
    this.#named.delete(name);
    source.isClosing = true;
    if (source.watcher !== undefined) watchers.stop(source.watcher, why);
    watchers.stopBelow(source.path, why);
    for (const { updates } of [source, ...this.#below(source)]) for (const update of [...updates]) cancel(update, why);
    this.#closeIfEmpty(source);
  }

  /** Live sources that components of its updates mounted, directly or through others. */
  #below(source: OpenSource): OpenSource[] {
    const direct = [...this.#mounted].filter(({ above }) => above === source);
    return direct.flatMap((one) => [one, ...this.#below(one)]);
  }

  /** Puts the source's watcher onto a runner, and keeps it there. */
  watch(name: string, runnerClass?: string): void {
    const source = this.named(name);
    if (source.watcher !== undefined) return;
    const request: MountRequest = {
      mount: 0,
      path: source.path,
      kind: 'watch',
      source: name,
      ...(runnerClass === undefined ? {} : { runnerClass }),
    };
    const bracket = this.#bracket(`${name}-watch`, { kind: 'cycle', source: name, trigger: 'watch' }, request, source);
    source.watcher = this.#options.runs.create(request, bracket, undefined);
    this.#options.watchers.open(source.watcher, false);
  }

  unwatch(name: string): void {
    const { watcher } = this.named(name);
    if (watcher !== undefined) this.#options.watchers.stop(watcher, 'the source is not watched any more');
  }

  /** A component mounts a live source: it stands under the live source whose update mounted it, and borrows that run's slot (A8). */
  mount(parent: LiveRun, request: MountRequest): void {
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
    if (this.#named.get(source.name) === source) return;
    source.isClosing = true;
    this.#closeIfEmpty(source);
  }

  changed(watcher: LiveRun, changes: readonly SourceChange[]): void {
    this.#options.watchers.saw(watcher);
    const onChanged = watcher.update.of?.onChanged;
    if (onChanged !== undefined) this.#options.outbox.post(() => onChanged(changes));
  }

  /** A live source that a component mounted under an earlier operator, and its watcher. */
  adopt(order: RunOrder, request: MountRequest, mounter: LiveRun | undefined): LiveRun {
    const { tree, taken } = this.#options;
    const mountedBy = mounter?.state.phase === 'executing' ? { mountedBy: mounter.state.ask } : {};
    const above = this.at(order);
    const branch = tree.openSource(above?.branch ?? tree.pool, order.path, mountedBy);
    const source = new OpenSource({ name: order.path }, order.path, branch, above);
    const bracket = this.#bracket(order.update, startOf(order), request, source);
    source.watcher = taken.adoptWatcher(order, request, bracket, mounter);
    this.#mounted.add(source);
    return source.watcher;
  }

  /** The last run of an update of it is over. */
  updateLeft(source: OpenSource, update: OpenUpdate): void {
    source.updates.delete(update);
    this.#closeIfEmpty(source);
  }

  /** Throws where no LiveSource of this name is open. */
  named(name: string): OpenSource {
    const source = this.#named.get(name);
    if (source === undefined) throw new Error(`no live source named ${name} is open`);
    return source;
  }

  /** The live source of an order's update. A mounted one that has not been reported: the LiveSource above it stands in. */
  at({ updateOf, source }: RunOrder): OpenSource | undefined {
    if (updateOf === undefined) return undefined;
    for (const mounted of this.#mounted) if (mounted.path === updateOf) return mounted;
    for (const open of this.#named.values()) if (open.path === updateOf) return open;
    return source === undefined ? undefined : this.#named.get(source);
  }

  /** Stands for an update in what a watcher is told; it is none, so nobody waits for its end. */
  #bracket(name: string, start: UpdateStart, request: MountRequest, source: OpenSource): OpenUpdate {
    const place = { path: request.path, branch: source.branch, of: source };
    return new OpenUpdate(name, start, place, this.#options.clock.nowMs());
  }

  #closeIfEmpty(source: OpenSource): void {
    if (!source.isClosing || source.updates.size > 0 || this.#below(source).length > 0) return;
    source.isClosing = false;
    this.#mounted.delete(source);
    const { tree, runs, cards } = this.#options;
    cards.setWeight(source, 1);
    runs.start(tree.remove(source.branch).granted);
    if (source.above !== undefined) this.#closeIfEmpty(source.above);
  }
}
