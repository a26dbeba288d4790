// How many runner pods of a class there should be, and which go. Pure: pods and demand in, a plan out.
//
//   P1. There are never more pods than `replicas.max` or the allowance of cards, pods that are being deleted included:
//       a card of a terminating pod is not free yet.
//   P2. A pod that executes runs, or may execute runs of an earlier operator, is never deleted: it drains first, and goes when it said that
//       it is drained.
//   P3. A pod above `replicas.min` goes after `idleAfter` without work, or, over the allowance, as soon as it is drained; the
//       least busy first.
//   P4. A changed template replaces pods one by one: the next drains when no pod of the class is missing or starting.
//   P5. A pod that is Failed for good is deleted and made anew, each time later (the caller's back-off says when).
//   P6. Ordinals are the smallest free ones, so that a plan made twice from one picture names the same pods.
import type { RunnerSpec } from '../../../crds/schema/index.ts';
import { durationMs } from '../../../crds/schema/index.ts';

/** A runner pod as its reconciler sees it: what the API server says, and what the runner says. */
export interface RunnerPodView {
  readonly name: string;
  readonly uid: string;
  readonly ordinal: number;
  readonly fingerprint: string;
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  readonly isDeleting: boolean;
  /** It ran already when this operator began to lead, and its runner has not reported: nobody knows yet what it executes. */
  readonly isAwaited?: boolean;
  /** Its runner, once it connected. */
  readonly runner?: {
    readonly executing: number;
    readonly isDraining: boolean;
    readonly isDrained: boolean;
    /** Since when it executes nothing; absent while it executes. */
    readonly idleSinceMs?: number;
  };
}

export interface ClassPicture {
  readonly runner: RunnerSpec;
  readonly pods: readonly RunnerPodView[];
  /** Fingerprint that a pod made now would have. */
  readonly fingerprint: string;
  /** Runs that execute on, or wait for, this class. */
  readonly executing: number;
  readonly waiting: number;
  /** Shares of cards that these runs ask for, in thousandths of a card. */
  readonly milliCards?: number;
  /** Pods that the class may have by its share of the cards (G7); absent: as many as it wants. */
  readonly allowance?: number;
  /** No pod is made before this time: the ones before failed. */
  readonly createNotBeforeMs?: number;
  /** Suspended or deleted Pipelines keep no runner longer than its runs. */
  readonly isSuspended: boolean;
  readonly nowMs: number;
}

export interface ClassPlan {
  /** Ordinals of pods to make. */
  readonly creates: readonly number[];
  /** Pods that shall take no new run. */
  readonly drains: readonly RunnerPodView[];
  readonly deletes: readonly {
    readonly pod: RunnerPodView;
    readonly why: 'idle' | 'outdated' | 'failed' | 'surplus';
  }[];
  /** Pods that the demand asks for, within replicas and allowance. */
  readonly desired: number;
  /** Pods that the demand asks for if cards were not short. */
  readonly wanted: number;
  /** When to look again though nothing happens; absent: only an event changes the plan. */
  readonly lookAgainAtMs?: number;
}

export function planClass(picture: ClassPicture): ClassPlan {
  const wanted = wantedPods(picture);
  const desired = Math.min(wanted, picture.allowance ?? wanted);
  const failed = picture.pods.filter(isFailed);
  const alive = picture.pods.filter((pod) => !pod.isDeleting && !isFailed(pod));
  const leaving = leavers(picture, alive, desired);
  const creates = ordinalsToCreate(picture, alive.length - leaving.count, desired);
  const plan = {
    creates,
    drains: leaving.drains,
    deletes: [...failed.map((pod) => ({ pod, why: 'failed' as const })), ...leaving.deletes],
    desired,
    wanted,
  };
  const lookAgainAtMs = nextLook(picture, alive, desired);
  return lookAgainAtMs === undefined ? plan : { ...plan, lookAgainAtMs };
}

const isFailed = (pod: RunnerPodView): boolean =>
  !pod.isDeleting && (pod.phase === 'Failed' || pod.phase === 'Succeeded');
const isBusy = (pod: RunnerPodView): boolean => (pod.runner?.executing ?? 0) > 0;
const isGoing = (pod: RunnerPodView): boolean => pod.runner?.isDraining ?? false;
const neverConnected = (pod: RunnerPodView): boolean => pod.runner === undefined && pod.isAwaited !== true;
/** Nothing runs on it: it never connected, or it said that it drained. */
const mayBeDeleted = (pod: RunnerPodView): boolean => neverConnected(pod) || pod.runner?.isDrained === true;

function wantedPods({ runner, executing, waiting, milliCards = 0, isSuspended }: ClassPicture): number {
  if (isSuspended) return 0;
  const bySlots = Math.ceil((executing + waiting) / runner.slots);
  const byCards = runner.gpus === 0 ? 0 : Math.ceil(milliCards / 1000 / runner.gpus);
  return Math.min(runner.replicas.max, Math.max(runner.replicas.min, bySlots, byCards));
}

type Why = 'idle' | 'outdated' | 'surplus';

interface Leavers {
  /** Pods that count as gone. */
  readonly count: number;
  readonly drains: readonly RunnerPodView[];
  readonly deletes: readonly { readonly pod: RunnerPodView; readonly why: Why }[];
}

function leavers(picture: ClassPicture, alive: readonly RunnerPodView[], desired: number): Leavers {
  const leaving = new Map<RunnerPodView, Why>(alive.filter(isGoing).map((pod) => [pod, 'surplus']));
  for (const { pod, why } of [...outdated(picture, alive, desired), ...surplus(picture, alive, desired)])
    leaving.set(pod, why);
  const pods = [...leaving.keys()];
  return {
    count: pods.length,
    drains: pods.filter((pod) => pod.runner !== undefined && !isGoing(pod)), // P2: also an idle one: a run may be on its way
    deletes: pods.filter(mayBeDeleted).map((pod) => ({ pod, why: leaving.get(pod)! })),
  };
}

/** P3: pods above what is desired, the least busy and then the highest ordinal first. One that never connected loses nothing. */
function surplus(picture: ClassPicture, alive: readonly RunnerPodView[], desired: number) {
  const staying = alive.filter((pod) => !isGoing(pod));
  const isOverAllowance = staying.length > (picture.allowance ?? Number.POSITIVE_INFINITY);
  const isOverMax = staying.length > picture.runner.replicas.max;
  const mustGo = picture.isSuspended || isOverAllowance || isOverMax;
  return staying
    .filter((pod) => mustGo || idleForMs(pod, picture.nowMs) >= durationMs(picture.runner.idleAfter))
    .sort(
      (a, b) =>
        Number(neverConnected(b)) - Number(neverConnected(a)) || // 1. one that never connected
        (a.runner?.executing ?? 0) - (b.runner?.executing ?? 0) || // 2. the least busy
        b.ordinal - a.ordinal, // 3. the newest
    )
    .slice(0, Math.max(0, staying.length - desired))
    .map((pod) => ({ pod, why: isBusy(pod) || mustGo ? ('surplus' as const) : ('idle' as const) }));
}

/** P4: at most one outdated pod at a time, and only while the class is whole, or as whole as a refusal to make more lets it be. */
function outdated(
  { fingerprint, pods, createNotBeforeMs }: ClassPicture,
  alive: readonly RunnerPodView[],
  desired: number,
) {
  const isAllThere = pods.length >= desired || createNotBeforeMs !== undefined;
  const isWhole = isAllThere && pods.every((pod) => pod.runner !== undefined && !pod.isDeleting && !isGoing(pod));
  const old = alive.filter((pod) => pod.fingerprint !== fingerprint);
  const unstarted = old.filter(neverConnected); // nothing is lost with them
  const next = isWhole
    ? old.sort((a, b) => (a.runner?.executing ?? 0) - (b.runner?.executing ?? 0) || a.ordinal - b.ordinal)[0]
    : undefined;
  return [...unstarted, ...(next === undefined ? [] : [next])].map((pod) => ({ pod, why: 'outdated' as const }));
}

function idleForMs(pod: RunnerPodView, nowMs: number): number {
  const since = pod.runner?.idleSinceMs;
  if (neverConnected(pod)) return Number.POSITIVE_INFINITY;
  return since === undefined ? -1 : nowMs - since;
}

/** P1, P5, P6. */
function ordinalsToCreate(picture: ClassPicture, staying: number, desired: number): number[] {
  const { pods, runner, nowMs, createNotBeforeMs = 0, allowance = Number.POSITIVE_INFINITY } = picture;
  if (nowMs < createNotBeforeMs) return [];
  const room = Math.min(runner.replicas.max, allowance) - pods.length;
  const taken = new Set(pods.map((pod) => pod.ordinal));
  const ordinals: number[] = [];
  for (let ordinal = 0; ordinals.length < Math.min(desired - staying, room); ordinal++) {
    if (!taken.has(ordinal)) ordinals.push(ordinal);
  }
  return ordinals;
}

function nextLook(picture: ClassPicture, alive: readonly RunnerPodView[], desired: number): number | undefined {
  const times: number[] = [];
  const { createNotBeforeMs, nowMs, runner } = picture;
  if (createNotBeforeMs !== undefined && createNotBeforeMs > nowMs && alive.length < desired)
    times.push(createNotBeforeMs);
  if (alive.length > desired) {
    for (const pod of alive) {
      const since = pod.runner?.idleSinceMs;
      if (since !== undefined && !isGoing(pod)) times.push(Math.max(nowMs, since + durationMs(runner.idleAfter)));
    }
  }
  return times.length === 0 ? undefined : Math.min(...times);
}
