// The local copy that reconcilers look at: reflectors of all kinds, in all namespaces or in those that are watched.
//   C1. A copy of several namespaces is one copy: an object lives in one of them.
//   C2. Pods are only those that Fairlead made; nodes, and what others hold of their cards, are looked at only where the operator serves all
//       namespaces.
//   C3. A change of a status alone is no event: nearly all of them are ours, and each would cost a look at the object and at its Pipeline.
import { LABELS } from '../../crds/schema/index.ts';
import { RUNNER_SELECTOR } from '../blueprint/index.ts';
import { type Caches, type PodObject, SharedConditions, type StoredObject } from '../reconcile/index.ts';
import { CardNodes } from './card-nodes.ts';
import type { Change } from './copy.ts';
import { type KubeObject, LIVE_SOURCES, PIPELINES, PODS, type Resource } from './objects.ts';
import { Reflector, type ReflectorObserver, type ReflectorOptions } from './reflector.ts';
import type { KubeApi } from './rest.ts';

export interface CacheEvents {
  /** A Pipeline came, went, or changed in more than its status. */
  pipeline(key: string, object: StoredObject): void;
  source(key: string, object: StoredObject): void;
  /** A runner pod came, changed or went; `isGone`: it is proven that it does not run any more. */
  pod(pod: PodObject, isGone: boolean): void;
  nodes(): void;
}

export interface ClusterCachesOptions {
  readonly api: KubeApi;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly watchesNodes: boolean;
  readonly events: CacheEvents;
  readonly observer?: ReflectorObserver;
}

const BY_PIPELINE = 'pipeline';
const BY_OWNER = 'owner';

export class ClusterCaches implements Caches {
  readonly #pipelines: readonly Reflector<StoredObject>[];
  readonly #sources: readonly Reflector<StoredObject>[];
  readonly #pods: readonly Reflector<PodObject>[];
  readonly #cards: CardNodes | undefined;

  constructor({ api, namespaces, watchesNodes, events, observer }: ClusterCachesOptions) {
    const scopes: (string | undefined)[] = namespaces.length === 0 ? [undefined] : [...namespaces];
    const conditions = new SharedConditions();
    const keep = (object: StoredObject) => withShared(object, conditions);
    const reflect = <T extends KubeObject>(
      resource: Resource,
      onChange: (change: Change<T>) => void,
      more: Pick<ReflectorOptions<T>, 'indexers' | 'labelSelector' | 'keep'> = {},
    ) =>
      scopes.map(
        (namespace) =>
          new Reflector<T>({
            api,
            resource,
            onChange,
            ...more,
            ...(namespace !== undefined && { namespace }),
            ...(observer !== undefined && { observer }),
          }),
      );
    this.#pipelines = reflect<StoredObject>(
      PIPELINES,
      (change) => {
        if (!isOnlyStatus(change)) events.pipeline(keyOfChange(change), objectOf(change));
      },
      { keep },
    );
    this.#sources = reflect<StoredObject>(
      LIVE_SOURCES,
      (change) => {
        if (!isOnlyStatus(change)) events.source(keyOfChange(change), objectOf(change));
      },
      { keep, indexers: { [BY_PIPELINE]: (source) => [pipelineKeyOf(source)] } },
    );
    this.#pods = reflect<PodObject>(PODS, (change) => events.pod(objectOf(change), change.kind === 'removed'), {
      indexers: { [BY_OWNER]: controllersOf },
      labelSelector: RUNNER_SELECTOR,
    });
    const others = { othersPods: `!${LABELS.ownerUid}`, changed: () => events.nodes() };
    this.#cards = watchesNodes ? new CardNodes({ api, ...others, ...(observer && { observer }) }) : undefined;
  }

  start(): void {
    for (const reflector of this.#all) reflector.start();
  }

  /** Resolves when every kind was listed once; false: `stop` came first. */
  async synced(): Promise<boolean> {
    const all = await Promise.allSettled(this.#all.map((reflector) => reflector.synced));
    return all.every(({ status }) => status === 'fulfilled');
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((reflector) => reflector.stop()));
  }

  pipeline(key: string): StoredObject | undefined {
    return first(this.#pipelines, (reflector) => reflector.store.get(key));
  }

  *pipelines(): Generator<StoredObject> {
    for (const reflector of this.#pipelines) yield* reflector.store.values();
  }

  source(key: string): StoredObject | undefined {
    return first(this.#sources, (reflector) => reflector.store.get(key));
  }

  *sources(): Generator<StoredObject> {
    for (const reflector of this.#sources) yield* reflector.store.values();
  }

  sourcesOf(pipelineKey: string): readonly StoredObject[] {
    return this.#sources.flatMap((reflector) => reflector.store.byIndex(BY_PIPELINE, pipelineKey));
  }

  podsOf(ownerUid: string): readonly PodObject[] {
    return this.#pods.flatMap((reflector) => reflector.store.byIndex(BY_OWNER, ownerUid));
  }

  /** A runner pod by "namespace/name". */
  pod(key: string): PodObject | undefined {
    return first(this.#pods, (reflector) => reflector.store.get(key));
  }

  *pods(): Generator<PodObject> {
    for (const reflector of this.#pods) yield* reflector.store.values();
  }

  offeredCards(resources: ReadonlySet<string>): ReadonlyMap<string, number> | undefined {
    return this.#cards?.offered(resources);
  }

  get #all(): readonly { start(): void; stop(): Promise<void>; readonly synced: Promise<void> }[] {
    return [...this.#pipelines, ...this.#sources, ...this.#pods, ...(this.#cards?.reflectors ?? [])];
  }
}

function first<T, U>(all: readonly T[], look: (one: T) => U | undefined): U | undefined {
  for (const one of all) {
    const found = look(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

function withShared(object: StoredObject, shared: SharedConditions): StoredObject {
  const status = object.status as { readonly conditions?: readonly object[] } | undefined;
  if (status?.conditions === undefined) return object;
  return { ...object, status: { ...status, conditions: shared.of(status.conditions) } };
}

const objectOf = <T>(change: Change<T>): T => (change.kind === 'removed' ? change.old : change.object);

/** C3. Somebody else's hand in a status is found with the next routine look. */
function isOnlyStatus(change: Change<StoredObject>): boolean {
  if (change.kind !== 'updated') return false;
  const relevant = ({ metadata }: StoredObject) => {
    const { uid, generation, deletionTimestamp, finalizers, annotations, labels } = metadata;
    return JSON.stringify([uid, generation, deletionTimestamp, finalizers, annotations, labels]);
  };
  return relevant(change.old) === relevant(change.object);
}

function keyOfChange(change: Change<StoredObject>): string {
  const { namespace = 'default', name } = objectOf(change).metadata;
  return `${namespace}/${name}`;
}

/** Pipeline that a LiveSource feeds, as "namespace/name". */
export function pipelineKeyOf({ metadata, spec }: StoredObject): string {
  const { pipelineRef } = (spec ?? {}) as { pipelineRef?: { name?: string } };
  return `${metadata.namespace ?? 'default'}/${pipelineRef?.name ?? ''}`;
}

/** Pods are found by the uid of their controller, which must agree with the label that they were selected by. */
function controllersOf({ metadata }: PodObject): string[] {
  const label = metadata.labels?.[LABELS.ownerUid];
  return (metadata.ownerReferences ?? []).flatMap(({ uid, controller }) =>
    controller === true && uid === label ? [uid] : [],
  );
}
