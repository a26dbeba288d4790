// Keeps one Pipeline as it is written: its host, its runner pods, its status. Level-based: what is done follows from what is there now.
import {
  FINALIZER,
  type Inflight,
  type LiveSourceSpec,
  type PipelineSpec,
  type PipelineStatus,
  type RunnerSpec,
  resolveInflight,
} from '../../../crds/schema/index.ts';
import { secretNames } from '../../blueprint/index.ts';
import { type EndedUpdate, type HostSpecs, PipelineHost } from '../../host/index.ts';
import { pastOf, sourcePastOf } from '../objects/past.ts';
import { keyOf, lookAgain, type Outcome, SETTLED, type StoredObject, type WriteResult } from '../ports.ts';
import type { Kept } from '../runners/kept.ts';
import type { Trouble } from '../status/picture.ts';
import { pipelineStatus } from '../status/status.ts';
import { updateNote } from '../status/update-note.ts';
import type { ControlContext } from './context.ts';
import { pipelinePicture } from './pictures.ts';

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
const CONFLICT_MS = 200;
const STATUS_KIND = 'Pipeline';

export class PipelineController {
  readonly #context: ControlContext;
  readonly #seen = new Map<string, Seen>();
  /** Why the last kept pods are as they are, for sources that ask. */
  readonly #kept = new Map<string, Kept>();

  constructor(context: ControlContext) {
    this.#context = context;
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
    const held = await this.#holds(object, signal);
    if (held !== 'held') return held === 'conflict' ? lookAgain(CONFLICT_MS) : SETTLED; // its own event brings it back
    return this.#follow(object, read.spec, inflight, signal);
  }

  // ---- a Pipeline that lives ---------------------------------------------------------------------------------------

  async #follow(
    object: StoredObject,
    spec: PipelineSpec,
    { slotsMax, limits }: Inflight,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const key = keyOf(object);
    const sources = this.#sourcesOf(key);
    const host = this.#hostOf(object, { pipeline: spec, slotsMax, limits, sources });
    this.#act(object, host);
    const kept = await this.#keep(object, spec, sources, host, spec.suspend && !host.isDropping, signal);
    this.#show(object, {
      refusal: undefined,
      trouble: undefined,
      kept,
      isSuspended: spec.suspend,
      slotsMax,
      sources: this.#context.caches.sourcesOf(key).length,
    });
    return this.#nextLook(host, kept);
  }

  /** LiveSources that take part: accepted, held by the finalizer, not being deleted. */
  #sourcesOf(key: string): Map<string, LiveSourceSpec> {
    const sources = new Map<string, LiveSourceSpec>();
    for (const object of this.#context.caches.sourcesOf(key)) {
      const { name, deletionTimestamp, finalizers = [] } = object.metadata;
      const read = this.#context.sources.read(object);
      const before = this.#context.hosts.get(key)?.host.specs.sources.get(name);
      if (deletionTimestamp !== undefined || !finalizers.includes(FINALIZER)) continue;
      if (read.kind === 'read') sources.set(name, read.spec);
      else if (before !== undefined) sources.set(name, before); // what was accepted last goes on
    }
    return sources;
  }

  #hostOf(object: StoredObject, specs: Omit<HostSpecs, 'generation'>): PipelineHost {
    const key = keyOf(object);
    const { hosts } = this.#context;
    const known = hosts.get(key);
    if (known === undefined) {
      const host = this.#open(object, { ...specs, generation: 1 });
      hosts.set(key, { uid: object.metadata.uid ?? '', host });
      this.#context.hostOpened?.(key, object, host);
      host.start();
      this.#wakeSources(object, specs.sources.keys());
      return host;
    }
    const { host } = known;
    if (isChanged(host.specs, specs)) {
      const before = host.specs.sources;
      host.apply({ ...specs, generation: host.specs.generation + 1 });
      this.#context.specsChanged(key);
      this.#wakeSources(
        object,
        [...specs.sources.keys()].filter((name) => !before.has(name)),
      );
    }
    return host;
  }

  /** Their triggers and statuses waited for the host. */
  #wakeSources({ metadata }: StoredObject, names: Iterable<string>): void {
    for (const name of names) this.#context.wakeSource(`${metadata.namespace ?? 'default'}/${name}`);
  }

  #open(object: StoredObject, specs: HostSpecs): PipelineHost {
    const key = keyOf(object);
    const { namespace = 'default' } = object.metadata;
    const { clock, settings, caches, random, defer } = this.#context;
    const status = object.status as PipelineStatus | undefined;
    const follower = this.#context.follow?.(key);
    const host = new PipelineHost({
      name: key,
      clock,
      epoch: settings.epoch,
      specs,
      ...(follower !== undefined && { follower }),
      ...(defer !== undefined && { defer }),
      past: (name) => {
        if (name === undefined) return pastOf(status as never);
        const source = caches.source(`${namespace}/${name}`);
        const spec = specs.sources.get(name);
        if (source === undefined || spec === undefined) return undefined;
        return sourcePastOf(spec, source.status as never, isEdited(source), random);
      },
      observer: {
        demandChanged: () => this.#context.wakePipeline(key),
        statusChanged: (name) => {
          if (name === undefined) this.#context.wakePipeline(key);
          else this.#context.wakeSource(`${namespace}/${name}`);
        },
        updateEnded: (ended) => this.#note(key, namespace, ended),
      },
    });
    // An edit that came while nobody led: fingerprints say which items it concerns.
    if (status?.observedGeneration !== undefined && isEdited(object)) host.want({ trigger: 'edit' });
    return host;
  }

  /** Tells of an update where it is seen with `kubectl describe`: on its LiveSource, or on the Pipeline. */
  #note(key: string, namespace: string, ended: EndedUpdate): void {
    const { caches, notes } = this.#context;
    const note = updateNote(ended);
    const { source } = ended.record;
    const object = source === undefined ? caches.pipeline(key) : caches.source(`${namespace}/${source}`);
    if (note !== undefined && object !== undefined) notes.record(object, note);
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
    const secrets = secretNames(spec, [...sources.values()]);
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

  // ---- the finalizer, and deletion ---------------------------------------------------------------------------------

  /** F1: whether the finalizer stands; where not, what came of asking for it. */
  async #holds(object: StoredObject, signal: AbortSignal): Promise<'held' | WriteResult> {
    const { finalizers = [] } = object.metadata;
    if (finalizers.includes(FINALIZER)) return 'held';
    return this.#context.writes.setFinalizers(object, [...finalizers, FINALIZER], signal);
  }

  async #delete(
    object: StoredObject,
    spec: PipelineSpec,
    { slotsMax, limits }: Inflight,
    signal: AbortSignal,
  ): Promise<Outcome> {
    if (!(object.metadata.finalizers ?? []).includes(FINALIZER)) return SETTLED;
    const key = keyOf(object);
    if (spec.deletionPolicy === 'Retain') return this.#letGo(object, signal);
    const known = this.#context.hosts.get(key)?.host;
    const host = known ?? this.#hostOf(object, { pipeline: spec, slotsMax, limits, sources: new Map() });
    const state = this.#context.drops.advance(
      object,
      (ended) => host.drop(undefined, ended),
      () => this.#context.wakePipeline(key),
    );
    if (state.kind === 'done') return this.#letGo(object, signal);
    if (state.kind === 'given-up') {
      this.#context.notes.record(object, stuckNote(state.message));
      return this.#letGo(object, signal);
    }
    const kept = await this.#keep(object, spec, this.#sourcesOf(key), host, false, signal);
    if (isNamespaceGoing(kept)) {
      this.#context.notes.record(object, stuckNote('its namespace is being deleted and takes no runner any more'));
      return this.#letGo(object, signal);
    }
    const trouble: Trouble | undefined =
      state.message === undefined ? undefined : { reason: 'DeletionStuck', message: state.message };
    this.#show(object, { refusal: undefined, trouble, kept, isSuspended: false, slotsMax, sources: 0 });
    const leftMs = Math.max(100, this.#context.drops.leftMs(object));
    return lookAgain(Math.min(leftMs, state.kind === 'waiting' ? state.afterMs : LOOK_MS));
  }

  async #letGo(object: StoredObject, signal: AbortSignal): Promise<Outcome> {
    const finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== FINALIZER);
    const result = await this.#context.writes.setFinalizers(object, finalizers, signal);
    return result === 'conflict' ? lookAgain(CONFLICT_MS) : SETTLED;
  }

  async #refused(object: StoredObject, refusal: Trouble, signal: AbortSignal): Promise<Outcome> {
    if (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).includes(FINALIZER)) {
      this.#context.notes.record(object, stuckNote(`the spec cannot be read (${refusal.message})`));
      return this.#letGo(object, signal);
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
      hostClosed?.(key);
    }
    const [namespace = '', name = ''] = key.split('/');
    cards.forget(namespace, name);
    statuses.forget(STATUS_KIND, key);
    pipelines.forget(key);
    pipelineTriggers.forget(key);
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

/** The event of an object that was let go with its rows (F2). */
export function stuckNote(message: string) {
  const note = `Rows were left behind: ${message}. Remove them by hand, or make the object again and delete it.`;
  return { type: 'Warning', reason: 'DeletionStuck', action: 'Delete', note } as const;
}

/** Whether the spec changed since a status was written. */
export function isEdited({ metadata, status }: StoredObject): boolean {
  const { observedGeneration } = (status ?? {}) as { observedGeneration?: number };
  return observedGeneration !== undefined && observedGeneration < (metadata.generation ?? 0);
}

function isChanged(before: HostSpecs, now: Omit<HostSpecs, 'generation'>): boolean {
  if (before.pipeline !== now.pipeline || before.slotsMax !== now.slotsMax) return true;
  if (before.sources.size !== now.sources.size) return true;
  for (const [name, spec] of now.sources) if (before.sources.get(name) !== spec) return true;
  return false;
}
