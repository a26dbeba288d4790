// What reconcilers need of the cluster: a local copy to look at, and a handful of writes. `operator/cluster` implements them.
import type { PodManifest, ServiceManifest } from '../blueprint/index.ts';

export interface StoredMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
    readonly controller?: boolean;
  }[];
}

/** An object as the API server holds it. */
export interface StoredObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: StoredMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
}

interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: { readonly reason?: string; readonly message?: string; readonly exitCode?: number };
}

export interface ContainerStatus {
  readonly name: string;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

export interface PodObject extends StoredObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
      readonly lastTransitionTime?: string;
    }[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

/** The local copy. It may lag by seconds. */
export interface Caches {
  /** Keys are "namespace/name". */
  pipeline(key: string): StoredObject | undefined;
  source(key: string): StoredObject | undefined;
  /** LiveSources that name a Pipeline, ordered by name. */
  sourcesOf(pipelineKey: string): readonly StoredObject[];
  /** Runner pods that a Pipeline of this uid controls, ordered by name. */
  podsOf(ownerUid: string): readonly PodObject[];
  /** Cards that nodes offer, by resource; undefined: nodes are not looked at. */
  offeredCards(resources: ReadonlySet<string>): ReadonlyMap<string, number> | undefined;
}

export type CreateResult =
  | { readonly kind: 'created' }
  /** A pod of that name is there; the cache will show whose. */
  | { readonly kind: 'exists' }
  | { readonly kind: 'refused'; readonly why: 'quota' | 'namespace-terminating' | 'template'; readonly message: string }
  /** The answer was lost: the pod may be there. */
  | { readonly kind: 'unknown'; readonly message: string };

export type WriteResult = 'done' | 'conflict' | 'gone';

/** All of them check first that this operator still leads, and reject when it does not. */
export interface Writes {
  createPod(manifest: PodManifest, signal: AbortSignal): Promise<CreateResult>;
  /** What the API server would say to a pod, in its own words; undefined: it would take it. Makes nothing. */
  checkPod(manifest: PodManifest, signal: AbortSignal): Promise<string | undefined>;
  /** Deletes this very pod, never another one of its name. */
  deletePod(pod: StoredObject, signal: AbortSignal): Promise<WriteResult>;
  /** Makes a Service what it is to be, and takes none from others; answers why the API server refused it. */
  applyService(manifest: ServiceManifest, signal: AbortSignal): Promise<string | undefined>;
  setFinalizers(object: StoredObject, finalizers: readonly string[], signal: AbortSignal): Promise<WriteResult>;
  applyStatus(object: StoredObject, status: object, signal: AbortSignal): Promise<WriteResult>;
}

export interface EventNote {
  readonly type: 'Normal' | 'Warning';
  /** PascalCase, from the documented constants. */
  readonly reason: string;
  /** What the operator did or tried, PascalCase. */
  readonly action: string;
  /** What happened and what to do, at most 1 KiB. */
  readonly note: string;
  /** For programs; of a series the newest. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Events for people. Never blocks and never fails. */
export interface Notes {
  record(regarding: StoredObject, note: EventNote): void;
}

/** What a reconcile came to. */
export type Outcome = { readonly kind: 'settled' } | { readonly kind: 'lookAgain'; readonly afterMs: number };

export const SETTLED: Outcome = { kind: 'settled' };
export const lookAgain = (afterMs: number): Outcome => ({ kind: 'lookAgain', afterMs });

export function keyOf({ metadata }: StoredObject): string {
  return `${metadata.namespace ?? 'default'}/${metadata.name}`;
}
