// Keeps one Pipeline as it is written: its host, its runner pods, its status. Level-based: what is done follows from what is there now.
import {
  type Inflight,
  type LiveSourceSpec,
  type PipelineSpec,
  type PipelineStatus,
  type RunnerSpec,
  resolveInflight,
} from '../../../crds/schema/index.ts';
import { SecretNames } from '../../blueprint/index.ts';
import type { PipelineHost } from '../../host/index.ts';
import { keyOf, lookAgain, type Outcome, SETTLED, type StoredObject } from '../ports.ts';
import type { Kept } from '../runners/kept.ts';
import type { Trouble } from '../status/picture.ts';
import { pipelineStatus } from '../status/status.ts';
import type { ControlContext } from './context.ts';
import { hold, isHeld, letGo, noteStuck } from './finalizer.ts';
import { Hosting } from './hosting.ts';
import { pipelinePicture } from './pictures.ts';
import { PushServices } from './push-services.ts';
import { StoreNotes } from './store-notes.ts';

/** What was seen of a Pipeline by its last reconcile; statuses are made from it at the moment of writing. */
interface Seen {
  readonly refusal: Trouble | undefined;
  readonly trouble: Trouble | undefined;
  readonly kept: Kept | undefined;
  readonly isSuspended: boolean;
  readonly slotsMax: number;
  readonly sources: number;
}

/** Counts and updates move without an event: while an update runs its Pipeline is looked at this often. */
const LOOK_MS = 5_000;
const STATUS_KIND = 'Pipeline';

export class PipelineController {
  readonly #context: ControlContext;
  readonly #hosting: Hosting;
  readonly #pushes: PushServices;
  readonly #storeNotes: StoreNotes;
  readonly #secretNames = new SecretNames();
  readonly #seen = new Map<string, Seen>();
  /** Why the last kept pods are as they are, for sources that ask. */
  readonly #kept = new Map<string, Kept>();

  constructor(context: ControlContext) {
    this.#context = context;
    this.#hosting = new Hosting(context);
    this.#pushes = new PushServices(context);
    this.#storeNotes = new StoreNotes(context.notes);
  }

  /** What the last reconcile found out about a Pipeline's runners. */
  keptOf(key: string): Kept | undefined {
    return this.#kept.get(key);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const object = this.#context.caches.pipeline(key);
    const hosted = this.#context.hosts.get(key);
    if (hosted !== undefined && hosted.uid !== object?.metadata.uid) this.#forget(key, hosted.uid);
    if (object === undefined) {
      this.#forget(key, undefined);
      return SETTLED;
    }
    const read = this.#context.pipelines.read(object);
    if (read.kind === 'refused') return this.#refused(object, read.refusal, signal);
    const inflight = resolveInflight(read.spec, this.#context.settings.environment);
    if (inflight.kind === 'refused')
      return this.#refused(object, { reason: 'InvalidSpec', message: inflight.message }, signal);
    if (object.metadata.deletionTimestamp !== undefined) return this.#delete(object, read.spec, inflight, signal);
    return (await hold(this.#context.writes, object, signal)) ?? this.#follow(object, read.spec, inflight, signal);
  }

  // ---- a Pipeline that lives ---------------------------------------------------------------------------------------

  async #follow(object: StoredObject, spec: PipelineSpec, inflight: Inflight, signal: AbortSignal): Promise<Outcome> {
    const key = keyOf(object);
    const sources = this.#hosting.sourcesOf(key);
    const host = this.#hosting.follow(object, spec, inflight, sources);
    this.#act(object, host);
    this.#storeNotes.look(object, host.storeTrouble);
    await this.#pushes.keep(object, sources.values(), signal);
    const kept = await this.#keep(object, spec, sources, host, spec.suspend && !host.isDropping, signal);
    this.#show(object, {
      refusal: undefined,
      trouble: undefined,
      kept,
      isSuspended: spec.suspend,
      slotsMax: inflight.slotsMax,
      sources: this.#context.caches.sourcesOf(key).length,
    });
    return this.#nextLook(host, kept);
  }

  /** Trigger annotations. */
  #act(object: StoredObject, host: PipelineHost): void {
    const wishes = new Set(this.#context.pipelineTriggers.take(object));
    const everySource = (wish: Parameters<PipelineHost['wantCycle']>[1]) => {
      for (const name of host.sources) host.wantCycle(name, wish);
    };
    if (wishes.has('reprocess')) host.want({ trigger: 'reprocess', reprocess: true });
    if (wishes.has('retryFailed')) {
      host.want({ trigger: 'retry-failed', releaseQuarantined: true });
      everySource({ trigger: 'retry-failed', releaseQuarantined: true });
    }
    if (wishes.has('repair')) host.repair();
    if (wishes.has('refresh')) everySource({ trigger: 'refresh' });
    if (wishes.has('allowDeletes')) everySource({ trigger: 'allow-deletes', allowDeletes: true });
  }

  async #keep(
    object: StoredObject,
    spec: PipelineSpec,
    sources: ReadonlyMap<string, LiveSourceSpec>,
    host: PipelineHost,
    isSuspended: boolean,
    signal: AbortSignal,
  ): Promise<Kept> {
    const { namespace = 'default', name: pipeline } = object.metadata;
    const allowance = (runner: RunnerSpec, wantedPods: number, heldPods: number) =>
      this.#context.cards.claim({
        namespace,
        pipeline,
        runnerClass: runner.name,
        resourceName: runner.resourceName,
        cardsPerPod: runner.gpus,
        wantedPods,
        heldPods,
      });
    const secrets = this.#secretNames.of(spec, sources.values());
    const kept = await this.#context.keeper.keep({ object, spec, secrets, host, isSuspended, allowance }, signal);
    this.#kept.set(keyOf(object), kept);
    return kept;
  }

  #nextLook(host: PipelineHost, kept: Kept): Outcome {
    const { held, waiting, backoff } = host.activity(undefined);
    const nowMs = this.#context.clock.nowMs();
    const inMs = kept.lookAgainAtMs === undefined ? undefined : Math.max(100, kept.lookAgainAtMs - nowMs);
    if (held + waiting + backoff > 0) return lookAgain(Math.min(LOOK_MS, inMs ?? LOOK_MS));
    return inMs === undefined ? SETTLED : lookAgain(inMs);
  }

  // ---- deletion ----------------------------------------------------------------------------------------------------

  async #delete(object: StoredObject, spec: PipelineSpec, inflight: Inflight, signal: AbortSignal): Promise<Outcome> {
    if (!isHeld(object)) return SETTLED;
    const key = keyOf(object);
    const { writes, notes } = this.#context;
    if (spec.deletionPolicy === 'Retain') return letGo(writes, object, signal);
    const known = this.#context.hosts.get(key)?.host;
    const host = known ?? this.#hosting.follow(object, spec, inflight, new Map());
    const state = this.#context.drops.advance(
      object,
      (ended) => host.drop(undefined, ended),
      () => this.#context.wakePipeline(key),
    );
    if (state.kind === 'given-up') noteStuck(notes, object, state.message);
    if (state.kind === 'done' || state.kind === 'given-up') return letGo(writes, object, signal);
    const kept = await this.#keep(object, spec, this.#hosting.sourcesOf(key), host, false, signal);
    if (isNamespaceGoing(kept)) {
      noteStuck(notes, object, 'its namespace is being deleted and takes no runner any more');
      return letGo(writes, object, signal);
    }
    const trouble: Trouble | undefined =
      state.message === undefined ? undefined : { reason: 'DeletionStuck', message: state.message };
    this.#show(object, {
      refusal: undefined,
      trouble,
      kept,
      isSuspended: false,
      slotsMax: inflight.slotsMax,
      sources: 0,
    });
    const leftMs = Math.max(100, this.#context.drops.leftMs(object));
    return lookAgain(Math.min(leftMs, state.kind === 'waiting' ? state.afterMs : LOOK_MS));
  }

  async #refused(object: StoredObject, refusal: Trouble, signal: AbortSignal): Promise<Outcome> {
    if (object.metadata.deletionTimestamp !== undefined && isHeld(object)) {
      noteStuck(this.#context.notes, object, `the spec cannot be read (${refusal.message})`);
      return letGo(this.#context.writes, object, signal);
    }
    this.#show(object, { refusal, trouble: undefined, kept: undefined, isSuspended: false, slotsMax: 0, sources: 0 });
    return SETTLED;
  }

  #forget(key: string, uid: string | undefined): void {
    const { hosts, drops, keeper, statuses, pipelines, pipelineTriggers, cards, hostClosed } = this.#context;
    const owner = hosts.close(key)?.uid ?? uid;
    if (owner !== undefined) {
      keeper.forget(owner);
      drops.forget(owner);
      this.#pushes.forget(owner);
      hostClosed?.(key);
    }
    const [namespace = '', name = ''] = key.split('/');
    cards.forget(namespace, name);
    statuses.forget(STATUS_KIND, key);
    pipelines.forget(key);
    pipelineTriggers.forget(key);
    this.#storeNotes.forget(key);
    this.#seen.delete(key);
    this.#kept.delete(key);
  }

  // ---- status ------------------------------------------------------------------------------------------------------

  #show(object: StoredObject, seen: Seen): void {
    const key = keyOf(object);
    this.#seen.set(key, seen);
    this.#context.statuses.offer<PipelineStatus>(STATUS_KIND, object, (previous) => this.#status(key, previous));
  }

  #status(key: string, previous: PipelineStatus | undefined) {
    const { caches, clock, hosts, pipelineTriggers } = this.#context;
    const object = caches.pipeline(key);
    const seen = this.#seen.get(key);
    if (object === undefined || seen === undefined) return undefined;
    const nowMs = clock.nowMs();
    const host = hosts.get(key)?.host;
    const picture = pipelinePicture({ ...seen, object, host, handled: pipelineTriggers.handled(object), nowMs });
    return { object, status: pipelineStatus(picture, previous, nowMs) };
  }
}

/** No runner is there to remove rows, and none can come: to wait for one would only hold up the end of the namespace. */
const isNamespaceGoing = ({ classes }: Kept): boolean =>
  classes.every(({ ready }) => ready === 0) && classes.some(({ trouble }) => trouble?.reason === 'Deleting');
