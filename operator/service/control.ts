// What an operator does while it leads: queues, workers and controllers on top of the caches, which live on when the lead is lost.
import { FINALIZER, LABELS } from '../../crds/schema/index.ts';
import type { RunnerPodSettings } from '../blueprint/index.ts';
import type { Clock } from '../clock.ts';
import {
  type ClusterCaches,
  ClusterWrites,
  EventRecorder,
  type KubeApi,
  NotLeading,
  pipelineKeyOf,
  Workers,
  WorkQueue,
} from '../cluster/index.ts';
import type { Defer } from '../dispatch/index.ts';
import type { Log } from '../log.ts';
import {
  CardOffice,
  type ControlContext,
  Drops,
  HostTable,
  PipelineController,
  type PodObject,
  pipelineReader,
  RunnerKeeper,
  SourceController,
  StatusWriter,
  type StoredObject,
  sourceReader,
  TriggerDesk,
} from '../reconcile/index.ts';
import { DemandLooks } from './demand.ts';

export interface ControlOptions {
  readonly api: KubeApi;
  readonly caches: ClusterCaches;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly epoch: number;
  /** Ends with the lead. */
  readonly signal: AbortSignal;
  readonly isLeading: () => boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly finalizerTimeoutMs: number;
  /** How long a pod with cards may wait for a node. */
  readonly pendingTimeoutMs: number;
  readonly runnerPod: () => RunnerPodSettings;
  /** Cards that may be used; empty: what nodes offer. */
  readonly cardBudget: ReadonlyMap<string, number>;
  readonly cardWeights: ReadonlyMap<string, number>;
  /** Name of this operator in events. */
  readonly instance: string;
  readonly defer?: Defer;
  readonly specsChanged?: (pipelineKey: string) => void;
  readonly hostOpened?: ControlContext['hostOpened'];
  readonly follow?: ControlContext['follow'];
  readonly hostClosed?: ControlContext['hostClosed'];
  readonly reconciled?: (kind: string, result: 'settled' | 'failed', tookMs: number) => void;
  readonly statusEveryMs?: number;
}

/** Workers of each kind. Reconciles of Pipelines write pods, those of sources hardly write at all. */
const PIPELINE_WORKERS = 4;
const SOURCE_WORKERS = 8;
/** Everything is looked at again after this time and up to a tenth more, though nothing happened. */
const RESYNC_MS = 720_000;

export class Control {
  readonly hosts = new HostTable();
  readonly statuses: StatusWriter;
  readonly #options: ControlOptions;
  readonly #pipelineQueue: WorkQueue;
  readonly #sourceQueue: WorkQueue;
  readonly #demand: DemandLooks;
  readonly #workers: readonly Workers[];
  readonly #cards: CardOffice;
  readonly #notes: EventRecorder;

  constructor(options: ControlOptions) {
    const { api, caches, clock, random, log, signal, cardBudget, cardWeights } = options;
    this.#options = options;
    this.#pipelineQueue = new WorkQueue(clock, random);
    this.#sourceQueue = new WorkQueue(clock, random);
    this.#demand = new DemandLooks(this.#pipelineQueue, clock);
    const writes = new ClusterWrites(api, options.isLeading);
    this.#notes = new EventRecorder(api, options.instance, options.isLeading, signal);
    this.statuses = new StatusWriter({
      writes,
      clock,
      signal,
      ...(options.statusEveryMs !== undefined && { everyMs: options.statusEveryMs }),
      failed: (key, error) => {
        if (!(error instanceof NotLeading)) log.warn('a status could not be written', { key, error });
      },
    });
    this.#cards = new CardOffice({
      capacity: (resources) => (cardBudget.size > 0 ? cardBudget : caches.offeredCards(resources)),
      weights: cardWeights,
      wake: (key) => this.#pipelineQueue.add(key),
    });
    const context = this.#context(writes);
    const pipelines = new PipelineController(context);
    const sources = new SourceController(context, pipelines);
    this.#workers = [
      this.#workersOf('Pipeline', this.#pipelineQueue, PIPELINE_WORKERS, pipelines),
      this.#workersOf('LiveSource', this.#sourceQueue, SOURCE_WORKERS, sources),
    ];
  }

  /** Looks at everything that the caches hold, then at what changes. */
  start(): void {
    this.lookAtAll();
    for (const workers of this.#workers) workers.start();
    this.#resyncLater();
  }

  /** Ends: workers finish what they have in hand (their signal has aborted when the lead was lost), events are written. */
  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((workers) => workers.stop()));
    this.hosts.closeAll();
    if (this.#options.isLeading()) await this.#notes.flush();
  }

  /** Looks at everything soon: something that all depend on has changed. */
  lookAtAll(): void {
    const { caches } = this.#options;
    for (const pipeline of caches.pipelines()) this.#pipelineQueue.add(keyOfObject(pipeline), 'routine');
    for (const source of caches.sources()) this.#sourceQueue.add(keyOfObject(source), 'routine');
  }

  // ---- what the caches tell ----------------------------------------------------------------------------------------

  pipelineChanged(key: string, object: StoredObject): void {
    const { caches } = this.#options;
    this.#pipelineQueue.add(key, 'user');
    const isEdit =
      object.metadata.generation !== (object.status as { observedGeneration?: number })?.observedGeneration;
    if (!isEdit && caches.pipeline(key) !== undefined) return;
    for (const source of caches.sourcesOf(key)) this.#sourceQueue.add(keyOfObject(source)); // they show the Pipeline's state
  }

  sourceChanged(key: string, object: StoredObject): void {
    this.#sourceQueue.add(key, 'user');
    const isToBeHeld = !(object.metadata.finalizers ?? []).includes(FINALIZER);
    if (isToBeHeld && this.#options.caches.source(key) !== undefined) return; // it takes part once it is held, which is a change of its own
    this.#pipelineQueue.add(pipelineKeyOf(object), 'user');
  }

  podChanged(pod: PodObject): void {
    const key = this.#pipelineOfPod(pod);
    if (key !== undefined) this.#pipelineQueue.add(key);
  }

  nodesChanged(): void {
    this.#cards.capacityChanged();
  }

  /** A runner came or went. */
  runnerChanged(pipelineKey: string): void {
    this.#pipelineQueue.add(pipelineKey);
  }

  metrics() {
    return {
      pipelines: this.#pipelineQueue.metrics(),
      sources: this.#sourceQueue.metrics(),
      dropped: this.#notes.dropped,
    };
  }

  #context(writes: ClusterWrites): ControlContext {
    const { caches, clock, random, epoch, environment, finalizerTimeoutMs, pendingTimeoutMs, runnerPod } =
      this.#options;
    const { defer, specsChanged, hostOpened, follow, hostClosed } = this.#options;
    const notes = this.#notes;
    return {
      caches,
      writes,
      notes,
      clock,
      random,
      settings: { epoch, environment, finalizerTimeoutMs, runnerPod },
      hosts: this.hosts,
      statuses: this.statuses,
      keeper: new RunnerKeeper({ caches, writes, notes, clock, settings: runnerPod, pendingTimeoutMs }),
      cards: this.#cards,
      pipelines: pipelineReader(),
      sources: sourceReader(),
      pipelineTriggers: new TriggerDesk(),
      sourceTriggers: new TriggerDesk(),
      drops: new Drops(clock, finalizerTimeoutMs),
      ...(defer !== undefined && { defer }),
      wakePipeline: (key) => this.#pipelineQueue.add(key),
      demandChanged: (key) => this.#demand.changed(key),
      wakeSource: (key) => this.#sourceQueue.add(key),
      specsChanged: (key) => specsChanged?.(key),
      ...(hostOpened !== undefined && { hostOpened }),
      ...(follow !== undefined && { follow }),
      hostClosed: (key) => {
        this.#demand.forget(key);
        hostClosed?.(key);
      },
    };
  }

  #workersOf(
    kind: string,
    queue: WorkQueue,
    count: number,
    controller: PipelineController | SourceController,
  ): Workers {
    const { clock, signal, log } = this.#options;
    return new Workers({
      queue,
      clock,
      count,
      signal,
      reconcile: (key, ends) => this.#timed(kind, controller.reconcile(key, ends)),
      failed: (key, error, retryInMs) =>
        log.warn(`${kind} could not be reconciled`, { key, error, retryInMs: Math.round(retryInMs) }),
    });
  }

  async #timed<T>(kind: string, work: Promise<T>): Promise<T> {
    const { clock, reconciled } = this.#options;
    const startedMs = clock.nowMs();
    let result: 'settled' | 'failed' = 'failed';
    try {
      const outcome = await work;
      result = 'settled';
      return outcome;
    } finally {
      reconciled?.(kind, result, clock.nowMs() - startedMs);
    }
  }

  #pipelineOfPod({ metadata }: PodObject): string | undefined {
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (owner === undefined || metadata.labels?.[LABELS.ownerUid] !== owner.uid) return undefined;
    return `${metadata.namespace ?? 'default'}/${owner.name}`;
  }

  #resyncLater(): void {
    const { clock, signal, random } = this.#options;
    const cancel = clock.after(RESYNC_MS * (1 + random() / 10), () => {
      this.lookAtAll();
      this.#resyncLater();
    });
    signal.addEventListener('abort', cancel, { once: true });
  }
}

const keyOfObject = ({ metadata }: StoredObject): string => `${metadata.namespace ?? 'default'}/${metadata.name}`;
