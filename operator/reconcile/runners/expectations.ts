// What was asked for and the cache does not show yet (F97).
//   X1. A pod whose create was sent counts as there until the cache shows it or `PATIENCE_MS` have passed, also when the answer was lost.
//   X2. A pod whose delete was sent counts as being deleted until the cache shows that, or that it is gone, or `PATIENCE_MS` have passed.
//   X3. What never comes makes no event: `dueAtMs` says when to look again.
import type { Clock } from '../../clock.ts';
import type { PodObject } from '../ports.ts';

const PATIENCE_MS = 30_000;

export interface ExpectedPod {
  readonly name: string;
  readonly ordinal: number;
  readonly fingerprint: string;
  readonly runnerClass: string;
}

interface OfOwner {
  readonly creates: Map<string, ExpectedPod & { readonly untilMs: number }>;
  /** By the pod's uid. */
  readonly deletes: Map<string, number>;
}

export class Expectations {
  readonly #clock: Clock;
  readonly #owners = new Map<string, OfOwner>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  creating(owner: string, pod: ExpectedPod): void {
    this.#of(owner).creates.set(pod.name, { ...pod, untilMs: this.#clock.nowMs() + PATIENCE_MS });
  }

  /** The create was refused: nothing will come. */
  notCreated(owner: string, name: string): void {
    this.#owners.get(owner)?.creates.delete(name);
  }

  deleting(owner: string, uid: string): void {
    this.#of(owner).deletes.set(uid, this.#clock.nowMs() + PATIENCE_MS);
  }

  notDeleted(owner: string, uid: string): void {
    this.#owners.get(owner)?.deletes.delete(uid);
  }

  /** Pods that were asked for and that the cache does not show; what it shows, or what is overdue, is expected no more. */
  missing(owner: string, shown: readonly PodObject[]): ExpectedPod[] {
    const known = this.#owners.get(owner);
    if (known === undefined) return [];
    const nowMs = this.#clock.nowMs();
    const names = new Set(shown.map(({ metadata }) => metadata.name));
    for (const [name, { untilMs }] of known.creates)
      if (names.has(name) || untilMs <= nowMs) known.creates.delete(name);
    return [...known.creates.values()];
  }

  isBeingDeleted(owner: string, pod: PodObject): boolean {
    if (pod.metadata.deletionTimestamp !== undefined) return true;
    const untilMs = this.#owners.get(owner)?.deletes.get(pod.metadata.uid ?? '');
    return untilMs !== undefined && untilMs > this.#clock.nowMs();
  }

  /** When what was asked for counts no more, of the pods that the cache shows (X3); undefined: nothing is expected. */
  dueAtMs(owner: string, shown: readonly PodObject[]): number | undefined {
    const { creates, deletes } = this.#of(owner);
    const missing = this.missing(owner, shown).map(({ name }) => creates.get(name)?.untilMs);
    const lingering = shown
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => deletes.get(metadata.uid ?? ''));
    const nowMs = this.#clock.nowMs();
    const times = [...missing, ...lingering].filter((atMs) => atMs !== undefined && atMs > nowMs) as number[];
    return times.length === 0 ? undefined : Math.min(...times);
  }

  forget(owner: string): void {
    this.#owners.delete(owner);
  }

  #of(owner: string): OfOwner {
    const known = this.#owners.get(owner);
    if (known !== undefined) return known;
    const fresh: OfOwner = { creates: new Map(), deletes: new Map() };
    this.#owners.set(owner, fresh);
    return fresh;
  }
}
