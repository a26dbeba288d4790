// One Pipeline on this machine: the same tree, dispatcher, triggers and engine that a cluster runs, wired in one process.
// Owns:   opening and closing the parts, which updates are asked for, what is reported of them.
// Leaves: admission (operator/dispatch and its tree), execution (runner/execute), opening parts from the spec (runner/assemble).

import { type Inflight, type LiveSource, mixesCards, resolveInflight } from '../../crds/schema/index.ts';
import type { ServingRule } from '../../operator/admission/index.ts';
import type { Watched } from '../../operator/api/index.ts';
import {
  Dispatcher,
  type Follower,
  fanOut,
  type JoinedRunner,
  type UpdateEnding,
  type UpdateStart,
  type UpdateView,
} from '../../operator/dispatch/index.ts';
import { type HostSpecs, limitsOf, OWN_UPDATES, triggerSettings } from '../../operator/host/index.ts';
import { type CycleWish, PipelineTriggers, SourceTriggers } from '../../operator/triggers/index.ts';
import type { Assembly } from '../../runner/assemble/index.ts';
import type { Clock } from '../../runner/clock.ts';
import { Engine } from '../../runner/execute/index.ts';
import type { Holder } from '../../runner/state/index.ts';
import { CommandError } from '../exit.ts';
import type { Loaded } from '../objects/index.ts';
import { Activity } from './activity.ts';
import { openAssembly } from './assembly.ts';
import { localCards } from './cards.ts';
import type { PipelineObjects } from './objects.ts';
import type { EndedUpdate, FailedItem, Reporter, SourceState } from './report.ts';
import type { Environment } from './secrets.ts';
import { tellLost } from './shared-state.ts';
import { Watcher, watchedOf } from './watched.ts';

/** Failed items that are printed for one update; the rest is counted. */
const FAILED_SHOWN_MAX = 20;
/** Runs whose own progress is told for one source. */
const RUNS_SHOWN_MAX = 5;
const DRAIN_POLL_MS = 25;
const NOTES_EVERY_MS = 5_000;
const STOPPED = 'stopped by the user';

export interface PipelineOptions {
  readonly clock: Clock;
  readonly environment: Environment;
  readonly reporter: Reporter;
  /** Default: fewest held first. Others are for comparison. */
  readonly rule?: ServingRule;
  /** Instead of `maxInflightComponents`; for comparison. */
  readonly slots?: number;
  /** Metrics and traces of a Pipeline, "namespace/name". */
  readonly follow?: (pipeline: string) => Follower;
  /** The process stays, so what user code mounted to live on goes on. Default: false. */
  readonly stays?: boolean;
  /** Resolves when the user asked to stop. */
  readonly stopped?: Promise<void>;
  /** Called when another process has taken over the state, with the words for it; the Pipeline does nothing more. */
  readonly onLost?: (message: string) => void;
}

export class LocalPipeline {
  readonly label: string;
  readonly objects: PipelineObjects;
  readonly assembly: Assembly;
  readonly dispatcher: Dispatcher;
  readonly #options: PipelineOptions;
  readonly #activity: Activity;
  readonly #engine: Engine;
  readonly #triggers: PipelineTriggers;
  readonly #joined: JoinedRunner;
  readonly #watcher: Watcher;
  #specs: HostSpecs;
  /** Sources are kept current, not only brought up to date once. */
  #isWatching = false;
  readonly #failedShown = new Map<string, number>();
  /** Who else hears of failed items, by update. */
  readonly #failedListeners = new Map<string, (item: FailedItem) => void>();
  #isDraining = false;
  #isCancelled = false;

  /** Opens a Pipeline for work. Throws CommandError where another process has it, or a part cannot be opened. */
  static async open(objects: PipelineObjects, options: PipelineOptions): Promise<LocalPipeline> {
    const inflight = inflightOf(objects, options);
    const cards = await localCards(objects, options.environment);
    const lost = Promise.withResolvers<Holder | undefined>();
    const assembly = await openAssembly(objects, { ...options, onLost: lost.resolve });
    const pipeline = new LocalPipeline(objects, assembly, inflight, cards, options);
    void lost.promise.then((holder) => pipeline.#lost(holder));
    return pipeline;
  }

  private constructor(
    objects: PipelineObjects,
    assembly: Assembly,
    { slotsMax, limits }: Inflight,
    cards: number,
    options: PipelineOptions,
  ) {
    const { clock, rule } = options;
    const { spec } = objects.pipeline.value;
    this.label = objects.label;
    this.objects = objects;
    this.assembly = assembly;
    this.#options = options;
    this.#activity = new Activity((item, update) => this.#reportFailed(item, update));
    this.#watcher = new Watcher(
      clock,
      objects.sources.map((source) => source.name),
    );
    this.#specs = {
      generation: 1,
      pipeline: spec,
      slotsMax,
      limits,
      sources: new Map(objects.sources.map(({ name, value }) => [name, value.spec])),
    };
    const { stores, plan, sources, hide } = assembly;
    this.#engine = new Engine({
      state: stores.state,
      plan,
      sources,
      clock,
      adopted: stores.adopted,
      livesOn: options.stays ?? false,
      hide,
    });
    const { namespace, name } = objects.pipeline;
    const follower = options.follow?.(`${namespace}/${name}`);
    const { slots: counts } = this.#activity;
    follower?.attach({
      specs: this.#specs,
      sources: [...sources.keys()],
      activity: (source) => (source === undefined ? counts.total : counts.of(source)),
    });
    this.dispatcher = new Dispatcher({
      clock,
      slotsMax,
      epoch: assembly.stores.epoch,
      packsCards: mixesCards(spec),
      events: fanOut([this.#activity, ...this.#watcher.followers, ...(follower?.events ?? [])]),
      ...(follower && { traceparentOf: (update: UpdateView) => follower.traceparentOf(update) }),
      ...(rule !== undefined && { rule }),
      limits,
    });
    const room = options.slots ?? sum(spec.runners, (runner) => runner.slots);
    this.#joined = this.dispatcher.addRunner({
      name: 'local',
      runnerClass: 'local',
      slots: room,
      cards,
      runner: this.#engine,
    });
    this.#engine.connect(this.#joined.uplink);
    this.#triggers = new PipelineTriggers({ door: this.dispatcher });
    for (const source of objects.sources) this.#openSource(source);
  }

  /** What people look at while it works. */
  watched(): Watched {
    return watchedOf({
      name: this.name,
      specs: () => this.#specs,
      dispatcher: this.dispatcher,
      triggers: this.#triggers,
      seat: this.#joined.seat,
      slots: this.#activity.slots,
      watcher: this.#watcher,
    });
  }

  /** "namespace/name". */
  get name(): string {
    const { namespace, name } = this.objects.pipeline;
    return `${namespace}/${name}`;
  }

  /** The specs in force: those of the files, until somebody suspends or resumes. */
  get specs(): HostSpecs {
    return this.#specs;
  }

  /** Follows specs in what they suspend; everything else of the files is read when the process starts. */
  apply(specs: HostSpecs): void {
    this.#specs = specs;
    for (const source of this.objects.sources) {
      this.#triggers.source(source.name)?.edit(this.#triggerSettings(source));
      this.#followWatch(source);
    }
  }

  /** A cycle of a live source, asked for by a person; who asks does not wait for it. False: there is no such source. */
  wantCycle(source: string, wish: CycleWish): boolean {
    const triggers = this.#triggers.source(source);
    triggers?.want(wish);
    return triggers !== undefined;
  }

  /** Runs one update and answers when it ended. `failed` is told, beside the reporter, of the items that fail in it. */
  update(start: Omit<UpdateStart, 'observer'>, failed?: (item: FailedItem) => void): Promise<EndedUpdate> {
    return new Promise((resolve) => {
      const ended = (view: UpdateView, ending: UpdateEnding) => {
        this.#failedListeners.delete(view.name);
        resolve(this.#report(view, ending));
      };
      const { name } = this.dispatcher.startUpdate({ ...start, observer: { ended } });
      if (failed !== undefined) this.#failedListeners.set(name, failed);
    });
  }

  /** One cycle of each of these live sources (default: all that are not suspended), at the same time. */
  async cycles(
    wish: {
      readonly trigger: string;
      readonly reprocess?: boolean;
      readonly allowDeletes?: boolean;
      readonly sources?: readonly string[];
    },
    failed?: (item: FailedItem) => void,
  ) {
    const { sources, ...start } = wish;
    const names = sources ?? this.objects.sources.filter((it) => !it.value.spec.suspend).map(({ name }) => name);
    return Promise.all(names.map((source) => this.update({ kind: 'cycle', source, ...start }, failed)));
  }

  /** Keeps every live source current until `drain`: by file events where it can be watched, and by its schedule. */
  watch(allowDeletes: boolean): void {
    this.#tellNotes();
    this.#isWatching = true;
    for (const source of this.objects.sources) {
      if (allowDeletes) this.#triggers.source(source.name)?.want({ trigger: 'start', allowDeletes });
      this.#followWatch(source);
      this.#triggers.source(source.name)?.start();
    }
  }

  /** Tells facts of components that live on; those of an update are told when it ends. */
  #tellNotes(): void {
    if (this.#isDraining) return;
    for (const { name } of this.objects.sources) this.#noteFacts(name);
    this.#options.clock.after(NOTES_EVERY_MS, () => this.#tellNotes());
  }

  /** What works now, for progress: one entry for each live source with an open update, and one for the Pipeline's own. */
  states(): SourceState[] {
    const groups = new Map<string, UpdateView[]>();
    for (const update of this.dispatcher.updates.values()) {
      if (update.kind === 'key') continue;
      const group = update.start.source ?? OWN_UPDATES;
      groups.set(group, [...(groups.get(group) ?? []), update]);
    }
    const runs = this.#engine.progressOfRuns();
    return [...groups].map(([group, updates]) => ({
      source: group === OWN_UPDATES ? this.label : group,
      progress: {
        listed: updates.every(({ progress }) => progress.listed),
        total: sum(updates, ({ progress }) => progress.total),
        done: sum(updates, ({ progress }) => progress.done),
        counts: updates.at(-1)!.progress.counts,
      },
      held: this.#activity.slots.of(group).held,
      waiting: this.#activity.slots.of(group).waiting,
      runs: runs.filter(({ source }) => source === group).slice(0, RUNS_SHOWN_MAX),
    }));
  }

  /** Starts nothing new, lets what executes end, and ends what is open as cancelled; what was not done stays in the work list. */
  async drain(): Promise<void> {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#triggers.close();
    this.dispatcher.resizeRunner(this.#joined.seat, 0);
    while (this.#activity.isWorking) await this.#pause();
    this.#cancel(STOPPED);
    while (this.dispatcher.liveRuns > 0) await this.#pause();
  }

  /** Ends what is open, once. */
  #cancel(why: string): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    for (const { name } of this.objects.sources) this.dispatcher.closeSource(name, why);
    for (const name of [...this.dispatcher.updates.keys()]) this.dispatcher.cancelUpdate(name, why);
  }

  /** What runs cannot be committed any more. */
  #lost(holder: Holder | undefined): void {
    const message = tellLost(this.label, this.#options.reporter, holder);
    this.#triggers.close();
    this.#cancel(message);
    this.#options.onLost?.(message);
  }

  async close(): Promise<void> {
    await this.drain();
    await this.assembly.close();
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      setTimeout(resolve, DRAIN_POLL_MS);
    });
  }

  #isWatched({ name }: Loaded<LiveSource>): boolean {
    return this.assembly.sources.get(name)?.source.watch !== undefined;
  }

  #isSuspended({ name }: Loaded<LiveSource>): boolean {
    return this.#specs.pipeline.suspend || this.#specs.sources.get(name)?.suspend === true;
  }

  #followWatch(source: Loaded<LiveSource>): void {
    if (!this.#isWatching || !this.#isWatched(source)) return;
    if (this.#isSuspended(source)) this.dispatcher.unwatchSource(source.name);
    else this.dispatcher.watchSource(source.name);
  }

  /** What can be watched is, whatever its mode. */
  #triggerSettings(object: Loaded<LiveSource>) {
    const spec = this.#specs.sources.get(object.name) ?? object.value.spec;
    const mode = this.#isWatched(object) ? 'Watch' : spec.mode;
    return triggerSettings({ ...spec, mode }, this.#specs.pipeline.suspend);
  }

  #openSource(object: Loaded<LiveSource>): void {
    const { name, value } = object;
    const { spec } = value;
    const triggers = new SourceTriggers({
      clock: this.#options.clock,
      door: this.dispatcher,
      source: name,
      settings: this.#triggerSettings(object),
      observer: { ended: (view, ending) => void this.#report(view, ending) },
    });
    const limits = limitsOf(spec.limits);
    this.dispatcher.openSource({
      name,
      weight: spec.weight,
      onChanged: (changes) => triggers.changed(changes),
      ...(limits !== undefined && { limits }),
    });
    this.#triggers.add(triggers);
  }

  #report(view: UpdateView, ending: UpdateEnding): EndedUpdate {
    const ended = this.#ended(view, ending);
    this.#options.reporter.ended(ended);
    const hidden = (this.#failedShown.get(view.name) ?? 0) - FAILED_SHOWN_MAX;
    if (hidden > 0) this.#options.reporter.note(`${hidden} more items failed; fairlead quarantine lists them`);
    this.#failedShown.delete(view.name);
    if (view.start.source !== undefined) this.#noteFacts(view.start.source);
    return ended;
  }

  #ended(view: UpdateView, { result, counts, outcome }: UpdateEnding): EndedUpdate {
    const message = messageOf(outcome);
    const revision = this.assembly.sources.get(view.start.source ?? '')?.source.revision?.();
    return {
      name: view.name,
      pipeline: this.label,
      kind: view.kind,
      ...(view.start.source !== undefined && { source: view.start.source }),
      ...(view.start.key !== undefined && { key: view.start.key }),
      trigger: view.trigger,
      result,
      counts,
      durationMs: this.#options.clock.nowMs() - view.requestedAtMs,
      ...(message !== undefined && { message }),
      ...(revision !== undefined && { revision }),
    };
  }

  #noteFacts(source: string): void {
    const ofSource = this.assembly.sources.get(source)?.source.takeNotes?.() ?? [];
    for (const note of [...ofSource, ...this.#engine.takeNotes(source)])
      this.#options.reporter.note(`${source}: ${note}`);
  }

  #reportFailed(item: FailedItem, update: string): void {
    const shown = (this.#failedShown.get(update) ?? 0) + 1;
    this.#failedShown.set(update, shown);
    if (shown > FAILED_SHOWN_MAX) return;
    this.#options.reporter.failed(item);
    this.#failedListeners.get(update)?.(item);
  }
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((total, one) => total + of(one), 0);

function inflightOf({ pipeline }: PipelineObjects, { slots, environment }: PipelineOptions): Inflight {
  const inflight = resolveInflight(pipeline.value.spec, environment);
  if (inflight.kind === 'refused') throw new CommandError(inflight.message);
  return slots === undefined ? inflight : { ...inflight, slotsMax: slots };
}

function messageOf(outcome: UpdateEnding['outcome']): string | undefined {
  if (outcome.kind === 'failed') return outcome.error.message;
  if (outcome.kind === 'cancelled') return outcome.why;
  if (outcome.kind !== 'done' || outcome.heldDeletes === undefined) return undefined;
  const { missing, known } = outcome.heldDeletes;
  return `nothing was deleted: ${missing} of ${known} items are not in the source any more, more than deleteGuard allows. If that is right: --allow-deletes`;
}
