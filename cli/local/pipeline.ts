// One Pipeline on this machine: the host that an operator has for it, and the engine of a runner, in one process.
// Owns:   opening and closing the parts, draining, what is reported while it works.
// Leaves: updates, triggers and records (operator/host), admission (operator/dispatch and its tree), execution (runner/execute), opening parts
//         from the spec (runner/assemble).

import { type Inflight, type LiveSourceSpec, resolveInflight } from '../../crds/schema/index.ts';
import type { ServingRule } from '../../operator/admission/index.ts';
import type { Follower, JoinedRunner, UpdateStart, UpdateView } from '../../operator/dispatch/index.ts';
import { type HostSpecs, OWN_UPDATES, PipelineHost } from '../../operator/host/index.ts';
import type { Assembly } from '../../runner/assemble/index.ts';
import type { Clock } from '../../runner/clock.ts';
import { Engine } from '../../runner/execute/index.ts';
import type { Holder } from '../../runner/state/index.ts';
import { CommandError } from '../exit.ts';
import { Activity } from './activity.ts';
import { openAssembly } from './assembly.ts';
import { localCards } from './cards.ts';
import type { PipelineObjects } from './objects.ts';
import type { EndedUpdate, FailedItem, Reporter, SourceState } from './report.ts';
import type { Environment } from './secrets.ts';
import { tellLost } from './shared-state.ts';
import { ToldUpdates } from './told-updates.ts';

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
  readonly host: PipelineHost;
  readonly #options: PipelineOptions;
  readonly #activity = new Activity();
  readonly #told: ToldUpdates;
  readonly #engine: Engine;
  readonly #joined: JoinedRunner;
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
    inflight: Inflight,
    cards: number,
    options: PipelineOptions,
  ) {
    const { clock, reporter, stays = false } = options;
    const { stores, plan, sources, hide } = assembly;
    this.label = objects.label;
    this.objects = objects;
    this.assembly = assembly;
    this.#options = options;
    this.#engine = new Engine({
      state: stores.state,
      plan,
      sources,
      clock,
      adopted: stores.adopted,
      livesOn: stays,
      hide,
    });
    this.#told = new ToldUpdates({
      label: this.label,
      clock,
      reporter,
      sources,
      tellFacts: (source) => this.#tellFacts(source),
    });
    this.host = this.#openHost(inflight);
    this.#joined = this.host.addRunner({
      name: 'local',
      runnerClass: 'local',
      slots: options.slots ?? sum(objects.pipeline.value.spec.runners, (runner) => runner.slots),
      cards,
      runner: this.#engine,
    });
    this.#engine.connect(this.#joined.uplink);
    this.host.start();
  }

  #openHost({ slotsMax, limits }: Inflight): PipelineHost {
    const { clock, follow, rule } = this.#options;
    const { namespace, name, value } = this.objects.pipeline;
    const sources = this.objects.sources.map(
      (source) => [source.name, this.#asWatched(source.name, source.value.spec)] as const,
    );
    const specs: HostSpecs = {
      generation: 1,
      pipeline: value.spec,
      slotsMax,
      limits,
      sources: new Map(sources),
    };
    const follower = follow?.(`${namespace}/${name}`);
    return new PipelineHost({
      name: `${namespace}/${name}`,
      clock,
      epoch: this.assembly.stores.epoch,
      specs,
      ignoresClasses: true,
      sleeps: true,
      events: [this.#activity, this.#told],
      ...(follower !== undefined && { follower }),
      ...(rule !== undefined && { rule }),
    });
  }

  /** What can be watched is, whatever its mode. */
  #asWatched(source: string, spec: LiveSourceSpec): LiveSourceSpec {
    const canWatch = this.assembly.sources.get(source)?.source.watch !== undefined;
    return canWatch ? { ...spec, mode: 'Watch' } : spec;
  }

  /** Runs one update and answers when it ended. `failed` is told, beside the reporter, of the items that fail in it. */
  update(start: Omit<UpdateStart, 'observer'>, failed: (item: FailedItem) => void = () => {}): Promise<EndedUpdate> {
    return this.#told.follow(this.host.update(start).name, failed);
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
    if (allowDeletes)
      for (const source of this.host.sources) this.host.wantCycle(source, { trigger: 'start', allowDeletes });
    this.host.wake();
  }

  /** Tells facts of components that live on; those of an update are told when it ends. */
  #tellNotes(): void {
    if (this.#isDraining) return;
    for (const source of this.host.sources) this.#tellFacts(source);
    this.#options.clock.after(NOTES_EVERY_MS, () => this.#tellNotes());
  }

  /** What works now, for progress: one entry for each live source with an open update, and one for the Pipeline's own. */
  states(): SourceState[] {
    const groups = new Map<string, UpdateView[]>();
    for (const update of this.host.dispatcher.updates.values()) {
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
      held: this.host.activity(group).held,
      waiting: this.host.activity(group).waiting,
      runs: runs.filter(({ source }) => source === group).slice(0, RUNS_SHOWN_MAX),
    }));
  }

  /** Starts nothing new, lets what executes end, and ends what is open as cancelled; what was not done stays in the work list. */
  async drain(): Promise<void> {
    if (this.#isDraining) return;
    this.#isDraining = true;
    const { dispatcher } = this.host;
    this.host.close();
    dispatcher.resizeRunner(this.#joined.seat, 0);
    while (this.#activity.isWorking) await pause();
    this.#cancel(STOPPED);
    while (dispatcher.liveRuns > 0) await pause();
  }

  /** Ends what is open, once. */
  #cancel(why: string): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    const { dispatcher } = this.host;
    for (const source of this.host.sources) dispatcher.closeSource(source, why);
    for (const name of [...dispatcher.updates.keys()]) dispatcher.cancelUpdate(name, why);
  }

  /** What runs cannot be committed any more. */
  #lost(holder: Holder | undefined): void {
    const message = tellLost(this.label, this.#options.reporter, holder);
    this.host.close();
    this.#cancel(message);
    this.#options.onLost?.(message);
  }

  /** The process ends at once because the user wants it: what executes is not to blame. */
  forgive(): Promise<void> {
    return this.#engine.forgive();
  }

  async close(): Promise<void> {
    await this.drain();
    await this.assembly.close();
  }

  #tellFacts(source: string): void {
    const ofSource = this.assembly.sources.get(source)?.source.takeNotes?.() ?? [];
    for (const note of [...ofSource, ...this.#engine.takeNotes(source)])
      this.#options.reporter.note(`${source}: ${note}`);
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));

const sum = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((total, one) => total + of(one), 0);

function inflightOf({ pipeline }: PipelineObjects, { slots, environment }: PipelineOptions): Inflight {
  const inflight = resolveInflight(pipeline.value.spec, environment);
  if (inflight.kind === 'refused') throw new CommandError(inflight.message);
  return slots === undefined ? inflight : { ...inflight, slotsMax: slots };
}
