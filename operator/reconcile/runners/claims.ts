// How many pods with cards a class claims: what it wants, unless no node took its pods in time (G7).
//   Q1. A pod that waits for the scheduler longer than the set time gives its claim back: it goes, and others may have the cards.
//   Q2. For as long again the class claims no more pods than nodes have taken; then it tries anew.
import type { Clock } from '../../clock.ts';
import type { PodObject } from '../ports.ts';

export class Claims {
  readonly #clock: Clock;
  readonly #patienceMs: number;
  /** By class: until when its claim is lowered. */
  readonly #loweredUntilMs = new Map<string, number>();

  constructor(clock: Clock, patienceMs: number) {
    this.#clock = clock;
    this.#patienceMs = patienceMs;
  }

  /** Pods that the class claims, of those that it wants. `key` names the class. */
  claimed(key: string, wantedPods: number, pods: readonly PodObject[]): number {
    const nowMs = this.#clock.nowMs();
    if (pods.some((pod) => waitsSinceMs(pod) + this.#patienceMs <= nowMs))
      this.#loweredUntilMs.set(key, nowMs + this.#patienceMs);
    const untilMs = this.#loweredUntilMs.get(key);
    if (untilMs === undefined) return wantedPods;
    if (untilMs <= nowMs) {
      this.#loweredUntilMs.delete(key);
      return wantedPods;
    }
    return Math.min(wantedPods, pods.filter((pod) => !Number.isFinite(waitsSinceMs(pod))).length);
  }

  /** When the claim may change though nothing happens; undefined: never. */
  nextLookAtMs(key: string, pods: readonly PodObject[]): number | undefined {
    const dueMs = pods.map((pod) => waitsSinceMs(pod) + this.#patienceMs);
    const nextMs = Math.min(this.#loweredUntilMs.get(key) ?? Number.POSITIVE_INFINITY, ...dueMs);
    return Number.isFinite(nextMs) ? nextMs : undefined;
  }

  /** A Pipeline is gone. */
  forget(ownerUid: string): void {
    for (const key of [...this.#loweredUntilMs.keys()])
      if (key.startsWith(`${ownerUid}/`)) this.#loweredUntilMs.delete(key);
  }
}

/** Since when a pod waits for a node; infinity: it does not. */
function waitsSinceMs({ metadata, spec, status }: PodObject): number {
  const isWaiting = spec?.nodeName === undefined && (status?.phase ?? 'Pending') === 'Pending';
  if (!isWaiting || metadata.deletionTimestamp !== undefined) return Number.POSITIVE_INFINITY;
  const since = Date.parse(metadata.creationTimestamp ?? '');
  return Number.isNaN(since) ? Number.POSITIVE_INFINITY : since;
}
