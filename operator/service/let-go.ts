// What an uninstall does first: no operator is left that would end what finalizers stand for, so they are taken off. Objects, definitions and
// rows stay; a later installation takes all of them up again.
//   G1. The operators end before the first finalizer goes: one that leads would set it again.
//   G2. Done twice it is as done once, and what was done in part is finished.
import { FINALIZER } from '../../crds/schema/index.ts';
import type { Clock } from '../clock.ts';
import {
  collectionPath,
  isConflict,
  isNotFound,
  type KubeApi,
  type KubeObject,
  LEASES,
  LIVE_SOURCES,
  objectPath,
  PIPELINES,
  pause,
  type Resource,
} from '../cluster/index.ts';

export interface LetGoOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  /** Ends the wait for operators, and with it all. */
  readonly signal: AbortSignal;
  /** Of the release. */
  readonly namespace: string;
  readonly deployment: string;
  readonly lease: string;
  /** Empty: all. */
  readonly watchNamespaces: readonly string[];
}

const DEPLOYMENTS: Resource = { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment' };
const LOOK_MS = 500;
const PAGE_SIZE = 500;

interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly renewTime?: string;
    readonly leaseDurationSeconds?: number;
  };
}

interface Page {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly KubeObject[];
}

/** Ends the operators and takes the finalizer off all objects; answers of how many. */
export async function letGo(options: LetGoOptions): Promise<number> {
  await endOperators(options);
  const scopes = options.watchNamespaces.length === 0 ? [undefined] : options.watchNamespaces;
  let count = 0;
  for (const resource of [LIVE_SOURCES, PIPELINES])
    for (const namespace of scopes) count += await letGoOf(options, resource, namespace);
  return count;
}

/** G1. */
async function endOperators({ api, clock, signal, namespace, deployment, lease }: LetGoOptions): Promise<void> {
  const path = objectPath(DEPLOYMENTS, { namespace, name: deployment });
  await orAbsent(patch(api, `${path}/scale`, { spec: { replicas: 0 } }));
  while (!signal.aborted) {
    const found = await orAbsent(api.request<{ status?: { replicas?: number } }>({ method: 'GET', path, signal }));
    const held = await orAbsent(
      api.request<Lease>({ method: 'GET', path: objectPath(LEASES, { namespace, name: lease }), signal }),
    );
    if ((found?.status?.replicas ?? 0) === 0 && !isHeld(held, clock.nowMs())) return;
    await pause(clock, LOOK_MS, signal);
  }
  throw new Error(`the operators of Deployment ${namespace}/${deployment} did not end in time`);
}

function isHeld(lease: Lease | undefined, nowMs: number): boolean {
  const { holderIdentity = '', renewTime = '', leaseDurationSeconds = 0 } = lease?.spec ?? {};
  return holderIdentity !== '' && nowMs < Date.parse(renewTime) + leaseDurationSeconds * 1000;
}

async function letGoOf(
  { api, signal }: LetGoOptions,
  resource: Resource,
  namespace: string | undefined,
): Promise<number> {
  let count = 0;
  let from: string | undefined;
  do {
    const query = { limit: PAGE_SIZE, continue: from };
    const path = collectionPath(resource, namespace);
    // Definitions that are not there have no objects.
    const page = await orAbsent(api.request<Page>({ method: 'GET', path, query, deadlineMs: 60_000, signal }));
    for (const { metadata } of page?.items ?? [])
      if (metadata.finalizers?.includes(FINALIZER)) count += await release(api, resource, metadata);
    from = page?.metadata.continue;
  } while (from);
  return count;
}

/** 1: its finalizer is off; 0: it was gone. What changed since it was listed is read again. */
async function release(api: KubeApi, resource: Resource, listed: KubeObject['metadata']): Promise<0 | 1> {
  const path = objectPath(resource, listed);
  for (let now: KubeObject['metadata'] | undefined = listed; now !== undefined; ) {
    const { uid, resourceVersion, finalizers = [] } = now;
    const left = finalizers.filter((name) => name !== FINALIZER);
    try {
      return (await orAbsent(patch(api, path, { metadata: { uid, resourceVersion, finalizers: left } }))) ? 1 : 0;
    } catch (error) {
      if (!isConflict(error)) throw error;
      now = (await orAbsent(api.request<KubeObject>({ method: 'GET', path })))?.metadata;
    }
  }
  return 0;
}

const patch = (api: KubeApi, path: string, body: object) =>
  api.request<object>({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });

async function orAbsent<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
