// Events for people (`kubectl describe`): written for transitions, never for single runs; repeated ones become a series.
// Recording never blocks and never fails its caller; what is dropped is counted.
import type { Clock } from '../clock.ts';
import type { EventNote } from '../reconcile/index.ts';
import { isNotFound, NotLeading } from './errors.ts';
import { microTime } from './leader.ts';
import { collectionPath, EVENTS, type KubeObject, objectPath } from './objects.ts';
import type { KubeApi } from './rest.ts';

interface Series {
  readonly name: string;
  readonly namespace: string;
  count: number;
  lastMs: number;
}

/** As client-go: 25 events of one object at once, then one in five minutes. */
const BURST = 25;
const REFILL_MS = 300_000;
/** An event that repeats within this time joins the series of the one before. */
const SERIES_MS = 360_000;
const SERIES_MAX = 4_096;
const PENDING_MAX = 1_000;
const NOTE_MAX = 1_000;

export class EventRecorder {
  readonly #api: KubeApi;
  readonly #clock: Clock;
  readonly #instance: string;
  readonly #isLeading: () => boolean;
  readonly #signal: AbortSignal;
  readonly #series = new Map<string, Series>();
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();
  #queue: Promise<void> = Promise.resolve();
  #pending = 0;
  #dropped = 0;

  /** `instance`: name of this operator's pod. What happens while `isLeading` says no, or once `signal` has ended, is for the leader to tell. */
  constructor(api: KubeApi, instance: string, isLeading: () => boolean, signal: AbortSignal) {
    this.#api = api;
    this.#clock = api.clock;
    this.#instance = instance;
    this.#isLeading = isLeading;
    this.#signal = signal;
  }

  /** Events that were not written: the bucket of their object was empty, the queue full, the server refused, or the lead was lost. */
  get dropped(): number {
    return this.#dropped;
  }

  record(regarding: KubeObject, note: EventNote): void {
    const uid = regarding.metadata.uid ?? '';
    if (this.#pending >= PENDING_MAX || !this.#takeToken(uid)) {
      this.#dropped++;
      return;
    }
    this.#pending++;
    this.#queue = this.#queue
      .then(() => this.#write(regarding, note, `${uid}/${note.type}/${note.reason}/${note.action}`))
      .catch(() => {
        this.#dropped++;
      })
      .finally(() => {
        this.#pending--;
      });
  }

  /** Resolves when everything recorded so far was written or dropped. */
  async flush(): Promise<void> {
    await this.#queue;
  }

  async #write(regarding: KubeObject, note: EventNote, key: string): Promise<void> {
    if (!this.#isLeading()) throw new NotLeading();
    const known = this.#series.get(key);
    const nowMs = this.#clock.nowMs();
    if (known !== undefined && nowMs - known.lastMs < SERIES_MS && (await this.#extend(known, note, nowMs))) return;
    this.#remember(key, await this.#create(regarding, note, nowMs), nowMs);
  }

  async #extend(series: Series, { annotations }: EventNote, nowMs: number): Promise<boolean> {
    series.count++;
    series.lastMs = nowMs;
    try {
      await this.#api.request({
        method: 'PATCH',
        path: objectPath(EVENTS, series),
        contentType: 'application/merge-patch+json',
        body: {
          ...(annotations !== undefined && { metadata: { annotations } }),
          series: { count: series.count, lastObservedTime: microTime(nowMs) },
        },
        signal: this.#signal,
      });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false; // events live an hour: start anew
      throw error;
    }
  }

  async #create(
    regarding: KubeObject,
    { note, annotations, ...what }: EventNote,
    nowMs: number,
  ): Promise<{ name: string; namespace: string }> {
    const { name, namespace = 'default', uid } = regarding.metadata;
    const created = await this.#api.request<KubeObject>({
      method: 'POST',
      path: collectionPath(EVENTS, namespace),
      body: {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: {
          generateName: `${name.slice(0, 200)}-`,
          namespace,
          ...(annotations !== undefined && { annotations }),
        },
        eventTime: microTime(nowMs),
        reportingController: 'fairlead.dev/operator',
        reportingInstance: this.#instance,
        regarding: { apiVersion: regarding.apiVersion, kind: regarding.kind, name, namespace, uid },
        ...what,
        note: note.slice(0, NOTE_MAX),
      },
      signal: this.#signal,
    });
    return { name: created.metadata.name, namespace };
  }

  #remember(key: string, event: { name: string; namespace: string }, nowMs: number): void {
    this.#series.delete(key);
    this.#series.set(key, { ...event, count: 1, lastMs: nowMs });
    if (this.#series.size > SERIES_MAX) this.#series.delete(this.#series.keys().next().value!);
  }

  #takeToken(uid: string): boolean {
    const nowMs = this.#clock.nowMs();
    const bucket = this.#buckets.get(uid) ?? { tokens: BURST, atMs: nowMs };
    const refilled = Math.min(BURST, bucket.tokens + (nowMs - bucket.atMs) / REFILL_MS);
    this.#buckets.delete(uid);
    this.#buckets.set(uid, { tokens: refilled >= 1 ? refilled - 1 : refilled, atMs: nowMs });
    if (this.#buckets.size > SERIES_MAX) this.#buckets.delete(this.#buckets.keys().next().value!);
    return refilled >= 1;
  }
}
