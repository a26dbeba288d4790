// One Pipeline at work: its dispatcher, its triggers, and what is remembered of its updates. A cluster's operator has one for each
// Pipeline; `fairlead operator --standalone` the same.
// Owns:   carrying specs over to dispatcher and triggers, the record of updates, counts for status and scaling.
// Leaves: who is next (dispatch and its tree), streams (gateway), objects and pods (reconcile).
//   H4. `apply` is level-based: called with the same specs it does nothing, whatever came before.
//   H5. A source that is dropped starts nothing more; its branch closes when its rows are gone.
//   H6. Nothing that lists or drops begins before every runner of an earlier operator has reported or is known to be gone: what they execute
//       belongs to updates that a new cycle must know as open, or it would execute their items a second time.
import { create } from '@bufbuild/protobuf';
import { type LiveSourceSpec, mixesCards } from '../../crds/schema/index.ts';
import { type Census, type Question, type RunnerReport, type Specs, SpecsSchema } from '../../runner/protocol/index.ts';
import type { Limits, ServingRule } from '../admission/index.ts';
import type { Clock } from '../clock.ts';
import {
  type Defer,
  type DispatchEvents,
  Dispatcher,
  type Follower,
  fanOut,
  type JoinedRunner,
  type RunnerStart,
  type Seat,
  type UpdateEnding,
  type UpdateStart,
  type UpdateView,
} from '../dispatch/index.ts';
import { type CycleWish, PipelineTriggers, SourceTriggers } from '../triggers/index.ts';
import { Activity, OWN_UPDATES, type SourceActivity } from './activity.ts';
import { CardMeter, type CardsPicture, cardsPicture } from './cards.ts';
import { type Asked, Questions } from './questions.ts';
import { Recent } from './recent.ts';
import { type EndedUpdate, type Past, Records } from './records.ts';
import { type ClassDemand, type RunnerOnHost, type RunnerPicture, Seats } from './seats.ts';
import { changesResults, type HostSpecs, itemNeeds, limitsOf, triggerSettings } from './specs.ts';
import { StoreHealth, type StoreTrouble } from './store-health.ts';

/** Told when something changed that somebody may want to act on. Called in the middle of decisions: implementations only take notes. */
export interface HostObserver {
  /** Runs wait that did not, a runner came, went, or became idle or busy. */
  demandChanged?(): void;
  /** What people see of a source (`undefined`: of the Pipeline itself) changed. */
  statusChanged?(source: string | undefined): void;
  /** An update has ended, one that found nothing to do too. */
  updateEnded?(ended: EndedUpdate): void;
}

export interface PipelineHostOptions {
  /** "namespace/name". */
  readonly name: string;
  readonly clock: Clock;
  /** Leadership epoch. */
  readonly epoch: number;
  readonly specs: HostSpecs;
  readonly observer?: HostObserver;
  /** Metrics and traces. */
  readonly follower?: Follower;
  /** Who else hears what the dispatcher does. */
  readonly events?: readonly DispatchEvents[];
  /** Instead of fewest held first; for comparison. */
  readonly rule?: ServingRule;
  /** Its sources begin nothing by themselves (no watcher, no schedule, no first cycle) before `wake`. */
  readonly sleeps?: boolean;
  readonly defer?: Defer;
  /** One runner stands for all classes, so runs name none. */
  readonly ignoresClasses?: boolean;
  /** What is known of a source from before, when the host starts. */
  readonly past?: (source: string | undefined) => SourcePast | undefined;
}

export interface SourcePast extends Past {
  /** How long its first cycle may wait, since an earlier operator listed it not long ago. */
  readonly delayMs?: number;
}

interface HostedSource {
  spec: LiveSourceSpec;
  /** What the triggers were told last. */
  isPipelineSuspended: boolean;
  readonly records: Records;
  readonly triggers: SourceTriggers;
}

/** Wishes of people for a source or the whole Pipeline. */
export type Wish = CycleWish;

export class PipelineHost {
  readonly name: string;
  readonly dispatcher: Dispatcher;
  /** What happened lately, for people. */
  readonly recent: Recent;
  readonly #options: PipelineHostOptions;
  readonly #clock: Clock;
  readonly #activity: Activity;
  readonly #cardMeter: CardMeter;
  readonly #stores: StoreHealth;
  readonly #triggers: PipelineTriggers;
  readonly #own = new Records();
  readonly #sources = new Map<string, HostedSource>();
  readonly #dropping = new Map<string, (ending: UpdateEnding) => void>();
  readonly #whenSettled: (() => void)[] = [];
  readonly #seats: Seats;
  readonly #questions: Questions;
  #specs: HostSpecs;
  #isAwake: boolean;
  /** What the state holds, as a runner counted it last. */
  #census: Census | undefined;

  constructor(options: PipelineHostOptions) {
    const { name, clock, epoch, specs, defer, rule, events = [] } = options;
    this.name = name;
    this.#options = options;
    this.#clock = clock;
    this.#activity = new Activity(() => this.#demandChanged());
    this.#seats = new Seats(clock, this.#activity);
    this.#cardMeter = new CardMeter(() => clock.nowMs());
    this.recent = new Recent(clock);
    this.#stores = new StoreHealth(clock, () => this.#storesChanged());
    const { limits } = specs;
    this.dispatcher = new Dispatcher({
      clock,
      epoch,
      slotsMax: specs.slotsMax,
      events: fanOut([
        this.#activity,
        this.#cardMeter,
        this.recent,
        this.#stores,
        { counted: (census) => this.#counted(census) },
        ...(options.follower?.events ?? []),
        ...events,
      ]),
      onAdopted: (update) => this.#adopted(update),
      onSettled: () => {
        for (const begin of this.#whenSettled.splice(0)) begin();
      },
      itemNeeds: () => itemNeeds(this.#specs.pipeline, options.ignoresClasses ?? false),
      packsCards: mixesCards(specs.pipeline),
      ...(options.follower && { traceparentOf: (update: UpdateView) => options.follower?.traceparentOf(update) }),
      ...(limits !== undefined && { limits }),
      ...(rule !== undefined && { rule }),
      ...(defer !== undefined && { defer }),
    });
    this.#triggers = new PipelineTriggers({
      door: this.dispatcher,
      observer: {
        opened: (update) => this.#own.opened(update),
        ended: (update, ending) => this.#ended(this.#own, undefined, update, ending),
      },
    });
    this.#questions = new Questions({
      refusal: () => this.#cannotAnswer(),
      start: (start, ended) => this.#startQuestion(start, ended),
      cancel: (update, why) => this.dispatcher.cancelUpdate(update, why),
    });
    const past = options.past?.(undefined);
    if (past !== undefined) this.#own.restore(past);
    this.#specs = { ...specs, sources: new Map() };
    this.#isAwake = options.sleeps !== true;
    options.follower?.attach(this);
  }

  /** Every runner of an earlier operator has reported or is known to be gone. */
  get isSettled(): boolean {
    return this.dispatcher.isSettled;
  }

  /** Begins, once the runners that an earlier operator had are expected (H6). Call it once. */
  start(): void {
    if (!this.dispatcher.isSettled) {
      this.#triggers.hold();
      this.#whenSettled.push(() => this.#triggers.letGo());
    }
    this.apply(this.#options.specs);
  }

  /** From now on its sources follow their watchers and schedules (`sleeps`). */
  wake(): void {
    if (this.#isAwake) return;
    this.#isAwake = true;
    for (const [name, hosted] of this.#sources) this.#begin(name, hosted);
  }

  /** The specs in force. */
  get specs(): HostSpecs {
    return this.#specs;
  }

  /** Makes the host follow the specs (H4). */
  apply(specs: HostSpecs): void {
    const before = this.#specs;
    this.#specs = specs;
    if (before.slotsMax !== specs.slotsMax) this.dispatcher.setSlots(specs.slotsMax);
    if (before.pipeline !== specs.pipeline) this.dispatcher.setCardPacking(mixesCards(specs.pipeline));
    if (!sameLimits(before.limits, specs.limits)) this.dispatcher.setLimits(specs.limits ?? {});
    for (const name of [...this.#sources.keys()]) if (!specs.sources.has(name)) this.#close(name);
    for (const [name, spec] of specs.sources) this.#applySource(name, spec, specs.pipeline.suspend);
    if (changesResults(before.pipeline, specs.pipeline)) this.want({ trigger: 'edit' });
  }

  /** An update of the whole Pipeline: what its known items need by their fingerprints. */
  want(wish: Pick<Wish, 'trigger' | 'reprocess' | 'releaseQuarantined'>): void {
    this.#triggers.want(wish);
  }

  /** A cycle of a source; false: there is no such source. */
  wantCycle(source: string, wish: Wish): boolean {
    const triggers = this.#sources.get(source)?.triggers;
    triggers?.want(wish);
    return triggers !== undefined;
  }

  /** An update at once, beside those that the triggers make, for one who follows it by its name. */
  update(start: Omit<UpdateStart, 'observer'>, told?: (ending: UpdateEnding) => void): UpdateView {
    const { source } = start;
    const records = this.records(source) ?? this.#own;
    const ended = (update: UpdateView, ending: UpdateEnding): void => {
      this.#ended(records, source, update, ending);
      told?.(ending);
    };
    const update = this.dispatcher.startUpdate({ ...start, observer: { ended } });
    records.opened(update);
    return update;
  }

  /** Asks its runners about state and targets. */
  ask(question: Question): Asked {
    return this.#questions.ask(question);
  }

  /** Mends what differs between state and targets, once no runner of an earlier operator is missing (H6). */
  repair(): void {
    if (this.dispatcher.isSettled) this.ask({ ask: 'repair' });
    else this.#whenSettled.push(() => this.ask({ ask: 'repair' }));
  }

  #cannotAnswer(): string | undefined {
    if (!this.dispatcher.isSettled)
      return 'its runners have not all reported to this operator yet: ask again in a moment';
    const hasNoRunner = this.#specs.pipeline.suspend && this.runners.length === 0;
    return hasNoRunner ? 'it is suspended and has no runner, which is who could answer: resume it first' : undefined;
  }

  /** What only looks leaves no record; what mends is an update like any other. */
  #startQuestion(start: UpdateStart, ended: (ending: UpdateEnding) => void): string {
    if (start.trigger === 'repair') return this.update(start, ended).name;
    return this.dispatcher.startUpdate({ ...start, observer: { ended: (_, ending) => ended(ending) } }).name;
  }

  /**
   * Removes all rows and records of a source, or of the whole Pipeline, as an update like any other (A10). `ended` hears how it went;
   * asked again while it runs, only the newest `ended` is told.
   */
  drop(source: string | undefined, ended: (ending: UpdateEnding) => void): void {
    const key = source ?? OWN_UPDATES;
    const isRunning = this.#dropping.has(key);
    this.#dropping.set(key, ended);
    if (isRunning) return;
    if (source === undefined) for (const name of [...this.#sources.keys()]) this.#close(name);
    else this.#close(source);
    if (this.dispatcher.isSettled) this.#startDrop(source, key);
    else this.#whenSettled.push(() => this.#startDrop(source, key));
  }

  #startDrop(source: string | undefined, key: string): void {
    if (source !== undefined) this.dispatcher.openSource({ name: source });
    this.dispatcher.startUpdate({
      kind: 'drop',
      trigger: 'delete',
      ...(source !== undefined && { source }),
      observer: {
        ended: (_, ending) => {
          if (source !== undefined) this.dispatcher.closeSource(source, 'its rows are gone');
          const tell = this.#dropping.get(key);
          this.#dropping.delete(key);
          this.#activity.forget(key);
          tell?.(ending);
        },
      },
    });
  }

  /** Whether rows are being removed: that needs runners, also while the Pipeline is suspended. */
  get isDropping(): boolean {
    return this.#dropping.size > 0;
  }

  /** Ends all that it does, at once and without a word to runners: this operator does not lead any more, or the Pipeline is gone. */
  close(): void {
    this.#whenSettled.length = 0;
    this.#stores.close();
    this.#triggers.close();
  }

  /** What runners are told of the specs. */
  wireSpecs(): Specs {
    const { generation, pipeline, sources } = this.#specs;
    return create(SpecsSchema, {
      generation,
      pipeline: JSON.stringify(pipeline),
      sources: [...sources].map(([name, spec]) => ({ name, spec: JSON.stringify(spec) })),
    });
  }

  // ---- runners -----------------------------------------------------------------------------------------------------

  /** A runner joins. Names of its sessions start with the name of its pod and a slash. */
  addRunner(start: RunnerStart): JoinedRunner {
    return this.#seated(start, this.dispatcher.addRunner(start));
  }

  /** A runner joins with what it holds already. */
  adoptRunner(start: RunnerStart, report: RunnerReport): JoinedRunner {
    return this.#seated(start, this.dispatcher.adoptRunner(start, report));
  }

  removeRunner(seat: Seat): void {
    this.#seats.remove(seat);
    this.dispatcher.removeRunner(seat);
    this.#demandChanged();
  }

  drainRunner(seat: Seat): void {
    this.dispatcher.drainRunner(seat);
  }

  silenceRunner(seat: Seat): void {
    this.dispatcher.silenceRunner(seat);
  }

  resumeRunner(seat: Seat): void {
    this.dispatcher.resumeRunner(seat);
  }

  expectRunner(key: string, slots: number): void {
    this.dispatcher.expectRunner(key, slots);
  }

  unexpectRunner(key: string): void {
    this.dispatcher.unexpectRunner(key);
  }

  /** A runner by its pod's name; undefined: it is not connected. */
  runner(pod: string): RunnerOnHost | undefined {
    return this.#seats.ofPod(pod);
  }

  /** The pod's runner takes no new run. */
  drainPod(pod: string): void {
    const seat = this.#seats.servingOf(pod);
    if (seat !== undefined) this.dispatcher.drainRunner(seat);
  }

  demand(): Map<string, ClassDemand> {
    return this.#seats.demand(this.#specs, this.#hasWatchers);
  }

  #seated(start: RunnerStart, joined: JoinedRunner): JoinedRunner {
    this.#seats.add(start.name, joined.seat);
    this.#demandChanged();
    return joined;
  }

  // ---- what people see ---------------------------------------------------------------------------------------------

  /** Why what runs commit is not taken now; undefined: it is. */
  get storeTrouble(): StoreTrouble | undefined {
    return this.#stores.trouble;
  }

  get cards(): CardsPicture {
    return cardsPicture(this.dispatcher, this.#cardMeter);
  }

  activity(source: string | undefined): Readonly<SourceActivity> {
    return source === undefined ? this.#activity.total : this.#activity.of(source);
  }

  /** Records of a source, or of the Pipeline's own updates. */
  records(source: string | undefined): Records | undefined {
    return source === undefined ? this.#own : this.#sources.get(source)?.records;
  }

  nextCycleAtMs(source: string): number | undefined {
    return this.#sources.get(source)?.triggers.dueAtMs;
  }

  /** Runners that are connected, in the order in which they joined. */
  get runners(): readonly RunnerPicture[] {
    return this.#seats.pictures;
  }

  get sources(): Iterable<string> {
    return this.#sources.keys();
  }

  // ---- sources -----------------------------------------------------------------------------------------------------

  #applySource(name: string, spec: LiveSourceSpec, isPipelineSuspended: boolean): void {
    const known = this.#sources.get(name);
    if (known === undefined) {
      if (!this.#dropping.has(name)) this.#open(name, spec, isPipelineSuspended);
      return;
    }
    if (known.spec === spec && known.isPipelineSuspended === isPipelineSuspended) return;
    const before = known.spec;
    known.spec = spec;
    known.isPipelineSuspended = isPipelineSuspended;
    this.dispatcher.editSource(name, settingsOf(spec));
    known.triggers.edit(triggerSettings(spec, isPipelineSuspended));
    this.#applyWatch(name, known);
    if (JSON.stringify(before.source) !== JSON.stringify(spec.source)) known.triggers.want({ trigger: 'edit' });
  }

  #open(name: string, spec: LiveSourceSpec, isPipelineSuspended: boolean): void {
    const records = new Records();
    const triggers = new SourceTriggers({
      clock: this.#clock,
      door: this.dispatcher,
      source: name,
      settings: triggerSettings(spec, isPipelineSuspended),
      observer: {
        opened: (update) => records.opened(update),
        listed: () => this.#options.observer?.statusChanged?.(name),
        ended: (update, ending) => this.#ended(records, name, update, ending),
      },
    });
    const hosted = { spec, isPipelineSuspended, records, triggers };
    const past = this.#options.past?.(name);
    if (past !== undefined) records.restore(past);
    if (this.#census !== undefined) records.counted(heldOf(this.#census, name));
    this.#sources.set(name, hosted);
    this.dispatcher.openSource({ name, onChanged: (changes) => triggers.changed(changes), ...settingsOf(spec) });
    this.#triggers.add(triggers);
    if (this.#isAwake) this.#begin(name, hosted, past?.delayMs);
  }

  #begin(name: string, hosted: HostedSource, delayMs?: number): void {
    this.#applyWatch(name, hosted);
    hosted.triggers.start(delayMs);
  }

  /** An update of an earlier operator goes on here: its source waits for it as for its own. */
  #adopted(update: UpdateView): void {
    const { source } = update.start;
    if (source === undefined && update.kind === 'pipeline') {
      this.#own.opened(update);
      this.dispatcher.observe(update.name, this.#triggers.adopt(update));
    }
    const hosted = this.#sources.get(source ?? OWN_UPDATES);
    if (hosted === undefined) return;
    hosted.records.opened(update);
    this.dispatcher.observe(update.name, hosted.triggers.adopt(update));
  }

  #applyWatch(name: string, { spec, isPipelineSuspended }: HostedSource): void {
    if (!this.#isAwake) return;
    if (spec.mode === 'Watch' && !spec.suspend && !isPipelineSuspended) this.dispatcher.watchSource(name);
    else this.dispatcher.unwatchSource(name);
  }

  #close(name: string): void {
    if (!this.#sources.delete(name)) return;
    this.#triggers.remove(name);
    this.dispatcher.closeSource(name, 'the LiveSource is being deleted');
    this.#activity.forget(name);
  }

  get #hasWatchers(): boolean {
    for (const { spec, isPipelineSuspended } of this.#sources.values())
      if (spec.mode === 'Watch' && !spec.suspend && !isPipelineSuspended) return true;
    return false;
  }

  #ended(records: Records, source: string | undefined, update: UpdateView, ending: UpdateEnding): void {
    const ended = records.ended(update, ending, this.#clock.nowMs());
    this.#options.observer?.updateEnded?.(ended);
    if (ended.isSeen) this.#options.observer?.statusChanged?.(source);
  }

  /** Several runners count one state: the newest census holds. */
  #counted(census: Census): void {
    if (this.#census !== undefined && census.atMs < this.#census.atMs) return;
    this.#census = census;
    for (const [name, { records }] of this.#sources)
      if (records.counted(heldOf(census, name))) this.#options.observer?.statusChanged?.(name);
    this.#options.observer?.statusChanged?.(undefined);
  }

  /** Sources show it too. */
  #storesChanged(): void {
    const { observer } = this.#options;
    for (const name of [undefined, ...this.#sources.keys()]) observer?.statusChanged?.(name);
  }

  #demandChanged(): void {
    this.#options.observer?.demandChanged?.();
  }
}

const heldOf = ({ sources }: Census, name: string) => sources.find(({ source }) => source === name);

const sameLimits = (a: Limits = {}, b: Limits = {}): boolean => a.rows === b.rows && a.bytes === b.bytes;

function settingsOf({ weight, limits }: LiveSourceSpec) {
  const bounds = limitsOf(limits);
  return { weight, ...(bounds !== undefined && { limits: bounds }) };
}
