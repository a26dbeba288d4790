// One Pipeline at work: its dispatcher, its triggers, and what is remembered of its updates. A cluster's operator has one for each
// Pipeline; `fairlead operator --standalone` the same.
// Owns:   carrying specs over to dispatcher and triggers, the record of updates, counts for status and scaling.
// Leaves: who is next (dispatch and its tree), streams (gateway), objects and pods (reconcile).
//   H4. `apply` is level-based: called with the same specs it does nothing, whatever came before.
//   H5. A source that is dropped starts nothing more; its branch closes when its rows are gone (drops.ts).
//   H6. Nothing that lists or drops begins before every runner of an earlier operator has reported or is known to be gone: what they execute
//       belongs to updates that a new cycle must know as open, or it would execute their items a second time.
import { create } from '@bufbuild/protobuf';
import { mixesCards } from '../../crds/schema/index.ts';
import { type Question, type RunnerReport, type Specs, SpecsSchema } from '../../runner/protocol/index.ts';
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
import { type CycleWish, PipelineTriggers } from '../triggers/index.ts';
import { Activity, OWN_UPDATES, type SourceActivity } from './activity.ts';
import { CardMeter, type CardsPicture, cardsPicture } from './cards.ts';
import { type DropEnded, Drops } from './drops.ts';
import { type Asked, Questions } from './questions.ts';
import { Recent } from './recent.ts';
import { type EndedUpdate, Records } from './records.ts';
import { type ClassDemand, type RunnerOnHost, type RunnerPicture, Seats } from './seats.ts';
import { HostSources, type SourcePast } from './sources.ts';
import { changesResults, type HostSpecs, itemNeeds } from './specs.ts';
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
  readonly #texts = new WeakMap<object, string>();
  readonly #triggers: PipelineTriggers;
  readonly #own = new Records();
  readonly #sources: HostSources;
  readonly #drops: Drops;
  readonly #whenSettled: (() => void)[] = [];
  readonly #seats: Seats;
  readonly #questions: Questions;
  #specs: HostSpecs;

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
        { counted: (census) => this.#sources.counted(census) },
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
    this.#drops = new Drops(this.dispatcher, (key) => this.#activity.forget(key));
    this.#sources = new HostSources({
      clock,
      dispatcher: this.dispatcher,
      triggers: this.#triggers,
      isAwake: options.sleeps !== true,
      past: (source) => options.past?.(source),
      isDropping: (source) => this.#drops.has(source),
      changed: (source) => options.observer?.statusChanged?.(source),
      ended: (records, source, update, ending) => this.#ended(records, source, update, ending),
      closed: (source) => this.#activity.forget(source),
    });
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
    this.#sources.wake();
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
    this.#sources.apply(specs.sources, specs.pipeline.suspend);
    if (changesResults(before.pipeline, specs.pipeline)) this.want({ trigger: 'edit' });
  }

  /** An update of the whole Pipeline: what its known items need by their fingerprints. */
  want(wish: Pick<Wish, 'trigger' | 'reprocess' | 'releaseQuarantined'>): void {
    this.#triggers.want(wish);
  }

  /** A cycle of a source; false: there is no such source. */
  wantCycle(source: string, wish: Wish): boolean {
    const triggers = this.#sources.find(source)?.triggers;
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

  /** Removes all rows and records of a source, or of the whole Pipeline; `ended` hears how it went (H7). */
  drop(source: string | undefined, ended: DropEnded): void {
    if (!this.#drops.want(source, ended)) return;
    if (source === undefined) this.#sources.closeAll();
    else this.#sources.close(source);
    if (this.dispatcher.isSettled) this.#drops.start(source);
    else this.#whenSettled.push(() => this.#drops.start(source));
  }

  /** Whether rows are being removed: that needs runners, also while the Pipeline is suspended. */
  get isDropping(): boolean {
    return this.#drops.size > 0;
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
      pipeline: this.#textOf(pipeline),
      sources: [...sources].map(([name, spec]) => ({ name, spec: this.#textOf(spec) })),
    });
  }

  /** With each edit of one source all are sent: those that did not change are not written out again. */
  #textOf(spec: object): string {
    const known = this.#texts.get(spec);
    if (known !== undefined) return known;
    const text = JSON.stringify(spec);
    this.#texts.set(spec, text);
    return text;
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
    return this.#seats.demand(this.#specs, this.#sources.hasWatchers);
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
    return source === undefined ? this.#own : this.#sources.find(source)?.records;
  }

  nextCycleAtMs(source: string): number | undefined {
    return this.#sources.find(source)?.triggers.dueAtMs;
  }

  /** Runners that are connected, in the order in which they joined. */
  get runners(): readonly RunnerPicture[] {
    return this.#seats.pictures;
  }

  get sources(): Iterable<string> {
    return this.#sources.names;
  }

  /** An update of an earlier operator goes on here: its source waits for it as for its own. */
  #adopted(update: UpdateView): void {
    const { source } = update.start;
    if (source === undefined && update.kind === 'pipeline') {
      this.#own.opened(update);
      this.dispatcher.observe(update.name, this.#triggers.adopt(update));
    }
    const hosted = this.#sources.find(source ?? OWN_UPDATES);
    if (hosted === undefined) return;
    hosted.records.opened(update);
    this.dispatcher.observe(update.name, hosted.triggers.adopt(update));
  }

  #ended(records: Records, source: string | undefined, update: UpdateView, ending: UpdateEnding): void {
    const ended = records.ended(update, ending, this.#clock.nowMs());
    this.#options.observer?.updateEnded?.(ended);
    if (ended.isSeen) this.#options.observer?.statusChanged?.(source);
  }

  /** Sources show it too. */
  #storesChanged(): void {
    const { observer } = this.#options;
    for (const name of [undefined, ...this.#sources.names]) observer?.statusChanged?.(name);
  }

  #demandChanged(): void {
    this.#options.observer?.demandChanged?.();
  }
}

const sameLimits = (a: Limits = {}, b: Limits = {}): boolean => a.rows === b.rows && a.bytes === b.bytes;
