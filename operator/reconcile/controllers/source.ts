// Keeps one LiveSource as it is written. The Pipeline's controller feeds it to the host; here are its finalizer, its triggers, its status.
import type { LiveSourceSpec, LiveSourceStatus } from '../../../crds/schema/index.ts';
import type { PipelineHost } from '../../host/index.ts';
import { keyOf, lookAgain, type Outcome, SETTLED, type StoredObject } from '../ports.ts';
import type { LiveSourcePicture, Trouble } from '../status/picture.ts';
import { liveSourceStatus } from '../status/status.ts';
import type { ControlContext } from './context.ts';
import { hold, isHeld, letGo, noteStuck } from './finalizer.ts';
import { hasRoom, sourcePicture } from './pictures.ts';
import type { PipelineController } from './pipeline.ts';

interface Seen {
  readonly spec: LiveSourceSpec | undefined;
  readonly refusal: Trouble | undefined;
  readonly trouble: Trouble | undefined;
  readonly pipelineKey: string | undefined;
}

const LOOK_MS = 5_000;
const STATUS_KIND = 'LiveSource';

export class SourceController {
  readonly #context: ControlContext;
  readonly #pipelines: PipelineController;
  readonly #seen = new Map<string, Seen>();

  constructor(context: ControlContext, pipelines: PipelineController) {
    this.#context = context;
    this.#pipelines = pipelines;
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const object = this.#context.caches.source(key);
    if (object === undefined) {
      this.#forget(key);
      return SETTLED;
    }
    const read = this.#context.sources.read(object);
    if (read.kind === 'refused') return this.#refused(object, read.refusal, signal);
    const { spec } = read;
    const pipelineKey = `${object.metadata.namespace ?? 'default'}/${spec.pipelineRef.name}`;
    if (object.metadata.deletionTimestamp !== undefined) return this.#delete(object, spec, pipelineKey, signal);
    const held = await hold(this.#context.writes, object, signal);
    if (held !== undefined) return held;
    const host = this.#context.hosts.get(pipelineKey)?.host;
    if (host !== undefined && host.records(object.metadata.name) !== undefined) this.#act(object, host);
    this.#show(object, { spec, refusal: undefined, trouble: undefined, pipelineKey });
    return this.#nextLook(host, object.metadata.name);
  }

  #act(object: StoredObject, host: PipelineHost): void {
    const { name } = object.metadata;
    const wishes = new Set(this.#context.sourceTriggers.take(object));
    if (wishes.has('reprocess')) host.wantCycle(name, { trigger: 'reprocess', reprocess: true });
    if (wishes.has('retryFailed')) host.wantCycle(name, { trigger: 'retry-failed', releaseQuarantined: true });
    if (wishes.has('allowDeletes')) host.wantCycle(name, { trigger: 'allow-deletes', allowDeletes: true });
    if (wishes.has('refresh')) host.wantCycle(name, { trigger: 'refresh' });
  }

  /** While something runs, counts move without an event. */
  #nextLook(host: PipelineHost | undefined, name: string): Outcome {
    const { held, waiting, backoff } = host?.activity(name) ?? { held: 0, waiting: 0, backoff: 0 };
    return held + waiting + backoff > 0 ? lookAgain(LOOK_MS) : SETTLED;
  }

  // ---- deletion ----------------------------------------------------------------------------------------------------

  async #delete(
    object: StoredObject,
    spec: LiveSourceSpec,
    pipelineKey: string,
    signal: AbortSignal,
  ): Promise<Outcome> {
    if (!isHeld(object)) return SETTLED;
    const key = keyOf(object);
    const { hosts, drops } = this.#context;
    if (!this.#mustDrop(pipelineKey)) return this.#letGo(object, signal);
    const host = hosts.get(pipelineKey)?.host;
    const { name } = object.metadata;
    if (host === undefined && drops.leftMs(object) > 0) return lookAgain(Math.min(LOOK_MS, drops.leftMs(object)));
    const state = drops.advance(
      object,
      (ended) => host?.drop(name, ended),
      () => this.#context.wakeSource(key),
    );
    if (state.kind === 'given-up') noteStuck(this.#context.notes, object, state.message);
    if (state.kind === 'done' || state.kind === 'given-up') return this.#letGo(object, signal);
    const trouble: Trouble | undefined =
      state.message === undefined ? undefined : { reason: 'DeletionStuck', message: state.message };
    this.#show(object, { spec, refusal: undefined, trouble, pipelineKey });
    const leftMs = Math.max(100, drops.leftMs(object));
    return lookAgain(Math.min(leftMs, state.kind === 'waiting' ? state.afterMs : LOOK_MS));
  }

  /** A Pipeline that is gone has nothing to drop, one that is being deleted drops everything itself. */
  #mustDrop(pipelineKey: string): boolean {
    const pipeline = this.#context.caches.pipeline(pipelineKey);
    if (pipeline === undefined || pipeline.metadata.deletionTimestamp !== undefined) return false;
    const read = this.#context.pipelines.read(pipeline);
    return read.kind === 'read' && read.spec.deletionPolicy === 'Delete';
  }

  async #letGo(object: StoredObject, signal: AbortSignal): Promise<Outcome> {
    const outcome = await letGo(this.#context.writes, object, signal);
    if (outcome === SETTLED) this.#context.drops.forget(object.metadata.uid ?? ''); // else what was dropped stays dropped
    return outcome;
  }

  async #refused(object: StoredObject, refusal: Trouble, signal: AbortSignal): Promise<Outcome> {
    if (object.metadata.deletionTimestamp !== undefined) {
      if (!isHeld(object)) return SETTLED;
      noteStuck(this.#context.notes, object, `the spec cannot be read (${refusal.message})`);
      return this.#letGo(object, signal);
    }
    this.#show(object, { spec: undefined, refusal, trouble: undefined, pipelineKey: undefined });
    return SETTLED;
  }

  #forget(key: string): void {
    this.#context.statuses.forget(STATUS_KIND, key);
    this.#context.sources.forget(key);
    this.#context.sourceTriggers.forget(key);
    this.#seen.delete(key);
  }

  // ---- status ------------------------------------------------------------------------------------------------------

  #show(object: StoredObject, seen: Seen): void {
    const key = keyOf(object);
    this.#seen.set(key, seen);
    this.#context.statuses.offer<LiveSourceStatus>(STATUS_KIND, object, (previous) => this.#status(key, previous));
  }

  #status(key: string, previous: LiveSourceStatus | undefined) {
    const { caches, clock, hosts, sourceTriggers } = this.#context;
    const object = caches.source(key);
    const seen = this.#seen.get(key);
    if (object === undefined || seen === undefined) return undefined;
    const nowMs = clock.nowMs();
    const host = seen.pipelineKey === undefined ? undefined : hosts.get(seen.pipelineKey)?.host;
    const picture = sourcePicture({
      ...seen,
      object,
      host,
      handled: sourceTriggers.handled(object),
      isSuspended: seen.spec?.suspend ?? false,
      pipeline: this.#pipelineState(seen.pipelineKey),
      slotsMax: host?.specs.slotsMax ?? 0,
      hasRoom: seen.pipelineKey !== undefined && hasRoom(this.#pipelines.keptOf(seen.pipelineKey)),
      nowMs,
    });
    return { object, status: liveSourceStatus(picture, previous, nowMs) };
  }

  #pipelineState(key: string | undefined): LiveSourcePicture['pipeline'] {
    const object = key === undefined ? undefined : this.#context.caches.pipeline(key);
    if (object === undefined) return 'missing';
    const read = this.#context.pipelines.read(object);
    if (read.kind === 'refused' || object.metadata.deletionTimestamp !== undefined) return 'not-ready';
    return read.spec.suspend ? 'suspended' : 'ready';
  }
}
