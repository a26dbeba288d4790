// Waits for a state of objects: lists once, then follows the watch. Nothing is asked again and again.
import { attempt, start } from './programs.ts';

/** What scenarios read of any object. */
export interface Seen {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly generation?: number;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: {
    readonly phase?: string;
    readonly containerStatuses?: readonly ContainerSeen[];
    readonly conditions?: readonly Condition[];
    readonly observedGeneration?: number;
    readonly items?: { readonly done?: number; readonly failed?: number; readonly total?: number };
    readonly slots?: { readonly held?: number };
    readonly updates?: readonly UpdateSeen[];
    readonly [other: string]: unknown;
  };
}

export interface ContainerSeen {
  readonly name: string;
  readonly containerID?: string;
  readonly restartCount: number;
  readonly lastState?: { readonly terminated?: { readonly reason?: string; readonly exitCode: number } };
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface UpdateSeen {
  readonly name: string;
  readonly traceId?: string;
  readonly result?: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** Kinds that scenarios look at, and where the API server serves them. */
const ROOTS = {
  pods: '/api/v1',
  nodes: '/api/v1',
  deployments: '/apis/apps/v1',
  leases: '/apis/coordination.k8s.io/v1',
  pipelines: '/apis/fairlead.dev/v1alpha1',
  livesources: '/apis/fairlead.dev/v1alpha1',
} as const;

export interface Where {
  readonly kind: keyof typeof ROOTS;
  /** Absent: all, or of no namespace. */
  readonly namespace?: string;
  readonly name?: string;
  /** Label selector. */
  readonly labels?: string;
}

export type Holds = (objects: readonly Seen[]) => boolean;

/** A bound for a scenario that hangs, on a machine that does a lot besides; no claim. */
export const WITHIN_MS = 300_000;

/** The objects as soon as `holds` accepts them; throws with the last ones seen. */
export async function until(where: Where, holds: Holds, what: string): Promise<readonly Seen[]> {
  const deadline = performance.now() + WITHIN_MS;
  let last: readonly Seen[] = [];
  const look: Holds = (objects) => {
    last = objects;
    return holds(objects);
  };
  while (performance.now() < deadline) if (await follow(where, deadline, look)) return last;
  throw new Error(`never: ${what}; last seen: ${JSON.stringify(last).slice(0, 4_000)}`);
}

/** The objects now. */
export async function list(where: Where): Promise<readonly Seen[]> {
  return (await listing(where))?.items ?? [];
}

/** One list and its watch; false when the watch ended first. */
async function follow(where: Where, deadline: number, holds: Holds): Promise<boolean> {
  const listed = await listing(where);
  if (listed === undefined) return false;
  if (holds(listed.items)) return true;
  const objects = new Map(listed.items.map((object) => [object.metadata.uid, object]));
  const watch = start('kubectl', ['get', '--raw', `${pathOf(where)}&watch=1&resourceVersion=${listed.version}`]);
  const giveUp = setTimeout(() => watch.stop(), deadline - performance.now());
  try {
    for await (const line of watch.lines) {
      const { type, object } = JSON.parse(line) as { type: string; object: Seen };
      if (type === 'ERROR') return false;
      if (type === 'DELETED') objects.delete(object.metadata.uid);
      else objects.set(object.metadata.uid, object);
      if (holds([...objects.values()])) return true;
    }
    return false;
  } finally {
    clearTimeout(giveUp);
    watch.stop();
  }
}

/** Undefined while the API server does not answer. */
async function listing(where: Where): Promise<{ items: readonly Seen[]; version: string } | undefined> {
  const ran = await attempt('kubectl', ['get', '--raw', pathOf(where)]);
  if (ran.code !== 0) return undefined;
  const { items, metadata } = JSON.parse(ran.stdout) as { items: Seen[]; metadata: { resourceVersion: string } };
  return { items, version: metadata.resourceVersion };
}

function pathOf({ kind, namespace, name, labels }: Where): string {
  const query = new URLSearchParams({
    timeoutSeconds: '600',
    ...(name !== undefined && { fieldSelector: `metadata.name=${name}` }),
    ...(labels !== undefined && { labelSelector: labels }),
  });
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  return `${ROOTS[kind]}${scope}/${kind}?${query}`;
}

/** A condition of an object, where it is there. */
export const conditionOf = (object: Seen | undefined, type: string): Condition | undefined =>
  object?.status?.conditions?.find((condition) => condition.type === type);

/** Whether a condition is true of the generation that the object has now. */
export function isTrue(object: Seen | undefined, type: string): boolean {
  if (object === undefined || object.status?.observedGeneration !== object.metadata.generation) return false;
  return conditionOf(object, type)?.status === 'True';
}

export const isLiving = ({ metadata }: Seen): boolean => metadata.deletionTimestamp === undefined;
export const uidsOf = (objects: readonly Seen[]): string[] => objects.map(({ metadata }) => metadata.uid);
