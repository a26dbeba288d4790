// The few facts about Kubernetes objects that every part of this room needs.
import type { StoredMeta } from '../reconcile/index.ts';

/** Metadata that Fairlead reads or writes: what reconcilers see of it, whose port this room implements. */
export type ObjectMeta = StoredMeta;

/** Any object of the API server, as plain JSON. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** A kind of object and where the API server serves it. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
}

/** `namespace/name`, the key of an object within its kind. */
export function objectKey(meta: Pick<ObjectMeta, 'name' | 'namespace'>): string {
  return meta.namespace === undefined ? meta.name : `${meta.namespace}/${meta.name}`;
}

/** Path of a kind's collection, in one namespace or in all. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${scope}/${resource.plural}`;
}

/** Path of one object, or of one of its subresources. */
export function objectPath(
  resource: Resource,
  meta: Pick<ObjectMeta, 'name' | 'namespace'>,
  subresource?: string,
): string {
  const path = `${collectionPath(resource, meta.namespace)}/${encodeURIComponent(meta.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/**
 * Order of two resource versions of one kind: negative when `a` is older. They are decimal integers of any length
 * (guaranteed from Kubernetes 1.35, true of etcd-backed servers before).
 */
export function compareVersions(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

export const PIPELINES: Resource = {
  group: 'fairlead.dev',
  version: 'v1alpha1',
  plural: 'pipelines',
  kind: 'Pipeline',
};
export const LIVE_SOURCES: Resource = {
  group: 'fairlead.dev',
  version: 'v1alpha1',
  plural: 'livesources',
  kind: 'LiveSource',
};
export const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' };
export const SERVICES: Resource = { group: '', version: 'v1', plural: 'services', kind: 'Service' };
export const NODES: Resource = { group: '', version: 'v1', plural: 'nodes', kind: 'Node' };
export const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease' };
export const EVENTS: Resource = { group: 'events.k8s.io', version: 'v1', plural: 'events', kind: 'Event' };
