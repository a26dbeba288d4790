// The local copy that reconcilers look at: reflectors of all kinds, in all namespaces or in those that are watched.
//   C1. A copy of several namespaces is one copy: an object lives in one of them.
//   C2. Pods are only those that Fairlead made; nodes are looked at only where the operator may serve all namespaces.
import { LABELS } from '../../crds/schema/index.ts';
import { RUNNER_SELECTOR } from '../blueprint/index.ts';
import { type Caches, offeredCards, type PodObject, type StoredObject } from '../reconcile/index.ts';
import type { Change } from './copy.ts';
import { type KubeObject, LIVE_SOURCES, NODES, PIPELINES, PODS, type Resource } from './objects.ts';
import { Reflector, type ReflectorObserver } from './reflector.ts';
import type { KubeApi } from './rest.ts';
import type { Indexer } from './store.ts';

export interface CacheEvents {
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

type Node = KubeObject & {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: { readonly allocatable?: Readonly<Record<string, string>> };
};

const BY_PIPELINE = 'pipeline';
const BY_OWNER = 'owner';

export class ClusterCaches implements Caches {
  readonly #pipelines: readonly Reflector<StoredObject>[];
  readonly #sources: readonly Reflector<StoredObject>[];
  readonly #pods: readonly Reflector<PodObject>[];
  readonly #nodes: readonly Reflector<Node>[];

  constructor({ api, namespaces, watchesNodes, events, observer }: ClusterCachesOptions) {
    const scopes: (string | undefined)[] = namespaces.length === 0 ? [undefined] : [...namespaces];
    const reflect = <T extends KubeObject>(
      resource: Resource,
      onChange: (change: Change<T>) => void,
      indexers: Readonly<Record<string, Indexer<T>>> = {},
      labelSelector?: string,
    ) =>
      scopes.map(
        (namespace) =>
          new Reflector<T>({
            api,
            resource,
            onChange,
            indexers,
            ...(namespace !== undefined && { namespace }),
            ...(labelSelector !== undefined && { labelSelector }),
            ...(observer !== undefined && { observer }),
          }),
      );
    this.#pipelines = reflect<StoredObject>(PIPELINES, (change) =>
      events.pipeline(keyOfChange(change), objectOf(change)),
    );
    this.#sources = reflect<StoredObject>(
      LIVE_SOURCES,
      (change) => events.source(keyOfChange(change), objectOf(change)),
      { [BY_PIPELINE]: (source) => [pipelineKeyOf(source)] },
    );
    this.#pods = reflect<PodObject>(
      PODS,
      (change) => events.pod(objectOf(change), change.kind === 'removed'),
      { [BY_OWNER]: controllersOf },
      RUNNER_SELECTOR,
    );
    this.#nodes = watchesNodes
      ? [new Reflector<Node>({ api, resource: NODES, onChange: () => events.nodes(), ...(observer && { observer }) })]
      : [];
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
    if (this.#nodes.length === 0) return undefined;
    const nodes = [...this.#nodes[0]!.store.values()].map((node) => ({
      name: node.metadata.name,
      isSchedulable: node.spec?.unschedulable !== true,
      allocatable: node.status?.allocatable ?? {},
    }));
    return offeredCards(nodes, [], resources);
  }

  get #all(): readonly { start(): void; stop(): Promise<void>; readonly synced: Promise<void> }[] {
    return [...this.#pipelines, ...this.#sources, ...this.#pods, ...this.#nodes];
  }
}

function first<T, U>(all: readonly T[], look: (one: T) => U | undefined): U | undefined {
  for (const one of all) {
    const found = look(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

const objectOf = <T>(change: Change<T>): T => (change.kind === 'removed' ? change.old : change.object);

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
