// A reflector keeps a local copy of one kind of object: it lists, then watches, and tells what changed.
//
//   R1. A watch never takes an object back to an older version. A list does not either, unless the server itself went back: it is
//       a quorum read, so it is the truth.
//   R2. A relist is built aside and compared: what did not change is not told, what is missing is told as removed.
//   R3. A watch without a byte for `stallMs` is dead (bookmarks come every 60 s): it is reopened from the last version.
//   R4. 410 means relist now; 429, 5xx and lost connections mean reopen from the last version, with back-off.
//   R5. An object that was deleted and created again under one name is told as removed, then added.
//   R6. Handlers are called one at a time and only enqueue; one that throws does not stop the reflector.
//   R7. `stop()` can be awaited and raises nothing.
import type { CancelTimer } from '../clock.ts';
import { ApiError, isGone, statusError } from './errors.ts';
import { collectionPath, compareVersions, type KubeObject, objectKey, type Resource } from './objects.ts';
import { jitteredBackoff, type KubeApi, pause } from './rest.ts';
import { type Indexer, ObjectStore } from './store.ts';

/** A change of the local copy. `finalStateUnknown`: the removal was found by a relist, so the last state may be an older one. */
export type Change<T> =
  | { readonly kind: 'added'; readonly object: T; readonly isInitial: boolean }
  | { readonly kind: 'updated'; readonly object: T; readonly old: T }
  | { readonly kind: 'removed'; readonly old: T; readonly finalStateUnknown: boolean };

export type ReflectorState =
  | { readonly phase: 'init' }
  | { readonly phase: 'listing' }
  | { readonly phase: 'watching'; readonly sinceMs: number }
  | { readonly phase: 'backoff'; readonly attempt: number; readonly error: unknown }
  | { readonly phase: 'stopped' };

/** For metrics and logs. */
export interface ReflectorObserver {
  listed(kind: string, why: 'start' | 'expired' | 'not-served', objects: number, tookMs: number): void;
  /** Changes that a relist found and the watch had not told. */
  missed(kind: string, changes: number): void;
  watchEnded(kind: string, why: 'ended' | 'stalled' | 'error', lastedMs: number): void;
  handlerFailed(kind: string, error: unknown): void;
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly api: KubeApi;
  readonly resource: Resource;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
  readonly onChange: (change: Change<T>) => void;
  readonly observer?: ReflectorObserver;
  readonly stallMs?: number;
}

const PAGE_SIZE = 500;
const LIST_DEADLINE_MS = 60_000;
const STALL_MS = 95_000;
const BACKOFF_FIRST_MS = 800;
const BACKOFF_MAX_MS = 30_000;
/** A watch that lived this long was healthy: the next failure starts the back-off anew. */
const HEALTHY_MS = 120_000;
/** A watch that ends sooner without an event counts as a failure. */
const SHORT_WATCH_MS = 1_000;

interface ListPage<T> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject;
}

export class Reflector<T extends KubeObject> {
  readonly store: ObjectStore<T>;
  readonly #options: ReflectorOptions<T>;
  readonly #path: string;
  readonly #abort = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #state: ReflectorState = { phase: 'init' };
  #loop: Promise<void> | undefined;
  /** Version to watch from; undefined: a list is due. */
  #version: string | undefined;
  #listReason: 'start' | 'expired' | 'not-served' = 'start';
  #failures = 0;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#path = collectionPath(options.resource, options.namespace);
    this.store = new ObjectStore<T>(options.indexers);
    this.#synced.promise.catch(() => {}); // nobody has to wait for it
  }

  get state(): ReflectorState {
    return this.#state;
  }

  /** Resolves with the first whole list; rejects if the reflector is stopped before. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#loop;
    this.#state = { phase: 'stopped' };
    this.#synced.reject(new Error(`${this.#options.resource.plural}: stopped before the first list`));
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        if (this.#version === undefined) await this.#list();
        await this.#watch();
      } catch (error) {
        if (!signal.aborted) await this.#recover(error);
      }
    }
  }

  async #recover(error: unknown): Promise<void> {
    if (isGone(error)) {
      this.#version = undefined; // R4
      this.#listReason = 'expired';
    } else if (error instanceof ApiError && error.code === 404) {
      this.#version = undefined; // the kind is not served (yet): wait for it
      this.#listReason = 'not-served';
    }
    if (isGone(error) && this.#failures === 0) {
      this.#failures = 1; // the first relist goes at once, a second in a row waits
      return;
    }
    this.#failures++;
    this.#state = { phase: 'backoff', attempt: this.#failures, error };
    const { clock, random } = this.#options.api;
    const askedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    const waitMs = Math.max(askedMs, jitteredBackoff(this.#failures, BACKOFF_FIRST_MS, BACKOFF_MAX_MS, random));
    await pause(clock, waitMs, this.#abort.signal);
  }

  // ---- list ------------------------------------------------------------------------------------------------------

  async #list(): Promise<void> {
    this.#state = { phase: 'listing' };
    const { clock } = this.#options.api;
    const startedMs = clock.nowMs();
    const { objects, version } = await this.#pages();
    const changes = this.#replace(objects);
    this.#version = version;
    const kind = this.#options.resource.kind;
    this.#options.observer?.listed(kind, this.#listReason, objects.length, clock.nowMs() - startedMs);
    if (this.#listReason !== 'start' && changes > 0) this.#options.observer?.missed(kind, changes);
    this.#listReason = 'expired';
    this.#synced.resolve();
  }

  /** All pages of one consistent list. Without a resourceVersion, since with 0 the server ignores the limit. */
  async #pages(): Promise<{ objects: T[]; version: string }> {
    const objects: T[] = [];
    let from: string | undefined;
    for (;;) {
      const page = await this.#options.api.request<ListPage<T>>({
        method: 'GET',
        path: this.#path,
        query: { ...this.#selectors(), limit: PAGE_SIZE, continue: from },
        deadlineMs: LIST_DEADLINE_MS,
        signal: this.#abort.signal,
      });
      for (const item of page.items) objects.push(trim(this.#named(item)));
      from = page.metadata.continue;
      if (!from) return { objects, version: page.metadata.resourceVersion };
    }
  }

  /** Items of a list do not say what they are. */
  #named(item: T): T {
    const { group, version, kind } = this.#options.resource;
    return { ...item, apiVersion: group === '' ? version : `${group}/${version}`, kind };
  }

  /** Makes the copy equal to a whole list; answers how many objects differed (R2). */
  #replace(objects: readonly T[]): number {
    let changes = 0;
    const seen = new Set<string>();
    for (const object of objects) {
      seen.add(objectKey(object.metadata));
      if (this.#upsert(object, 'list')) changes++;
    }
    for (const key of [...this.store.keys()]) {
      if (seen.has(key)) continue;
      this.#remove(key, undefined, true);
      changes++;
    }
    return changes;
  }

  // ---- watch -----------------------------------------------------------------------------------------------------

  async #watch(): Promise<void> {
    const { clock } = this.#options.api;
    const startedMs = clock.nowMs();
    this.#state = { phase: 'watching', sinceMs: startedMs };
    const watch = new WatchSignal(this.#abort.signal, (wake) => clock.after(this.#options.stallMs ?? STALL_MS, wake));
    let events = 0;
    let why: 'ended' | 'stalled' | 'error' = 'error';
    try {
      for await (const line of this.#options.api.lines(this.#path, this.#watchQuery(), watch.signal)) {
        watch.alive();
        if (line !== '' && this.#apply(JSON.parse(line) as WatchEvent)) events++;
      }
      why = 'ended';
    } catch (error) {
      if (!watch.isStalled) throw error;
      why = 'stalled'; // R3: go on from the last version
    } finally {
      watch.end();
      const lastedMs = clock.nowMs() - startedMs;
      this.#options.observer?.watchEnded(this.#options.resource.kind, why, lastedMs);
      if (lastedMs > HEALTHY_MS || events > 0) this.#failures = 0;
      if (why === 'ended' && events === 0 && lastedMs < SHORT_WATCH_MS) await this.#recover(undefined);
    }
  }

  #watchQuery(): Record<string, string | number | boolean | undefined> {
    return {
      ...this.#selectors(),
      watch: true,
      allowWatchBookmarks: true,
      resourceVersion: this.#version,
      timeoutSeconds: 300 + Math.floor(this.#options.api.random() * 300),
    };
  }

  #selectors(): Record<string, string | undefined> {
    return { labelSelector: this.#options.labelSelector, fieldSelector: this.#options.fieldSelector };
  }

  /** Takes one event in; answers whether it carried an object. */
  #apply(event: WatchEvent): boolean {
    if (event.type === 'ERROR') throw statusError(event.object);
    this.#version = event.object.metadata.resourceVersion ?? this.#version;
    if (event.type === 'BOOKMARK') return false;
    const object = trim(event.object as T);
    if (event.type === 'DELETED') this.#remove(objectKey(object.metadata), object, false);
    else this.#upsert(object, 'watch');
    return true;
  }

  // ---- the copy --------------------------------------------------------------------------------------------------

  #upsert(object: T, from: 'list' | 'watch'): boolean {
    const key = objectKey(object.metadata);
    const known = this.store.get(key);
    if (known !== undefined && known.metadata.uid !== object.metadata.uid)
      this.#remove(key, undefined, true); // R5
    else if (known !== undefined && !isNews(object, known, from)) return false; // R1, R2
    const old = this.store.set(object);
    const isInitial = this.#listReason === 'start';
    this.#tell(old === undefined ? { kind: 'added', object, isInitial } : { kind: 'updated', object, old });
    return true;
  }

  #remove(key: string, last: T | undefined, finalStateUnknown: boolean): void {
    const known = this.store.get(key);
    if (known === undefined || (last !== undefined && last.metadata.uid !== known.metadata.uid)) return;
    this.store.delete(key);
    this.#tell({ kind: 'removed', old: last ?? known, finalStateUnknown });
  }

  #tell(change: Change<T>): void {
    try {
      this.#options.onChange(change);
    } catch (error) {
      this.#options.observer?.handlerFailed(this.#options.resource.kind, error); // R6
    }
  }
}

function isNews(object: KubeObject, known: KubeObject, from: 'list' | 'watch'): boolean {
  const order = compareVersions(object.metadata.resourceVersion ?? '', known.metadata.resourceVersion ?? '');
  return from === 'list' ? order !== 0 : order > 0;
}

/** Drops what only the server needs: a quarter of the memory of a typical object. */
function trim<T extends KubeObject>(object: T): T {
  const { managedFields: _, annotations, ...metadata } = object.metadata as T['metadata'] & { managedFields?: unknown };
  const { 'kubectl.kubernetes.io/last-applied-configuration': __, ...kept } = annotations ?? {};
  return { ...object, metadata: { ...metadata, ...(annotations && { annotations: kept }) } };
}

/** A signal that aborts when its parent does or when the watch gave no sign of life in time. */
class WatchSignal {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #arm: (wake: () => void) => CancelTimer;
  #cancel: CancelTimer;
  #isStalled = false;

  constructor(parent: AbortSignal, arm: (wake: () => void) => CancelTimer) {
    this.#parent = parent;
    this.#arm = arm;
    this.#cancel = arm(this.#stall);
    parent.addEventListener('abort', this.#passOn);
    if (parent.aborted) this.#passOn();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isStalled(): boolean {
    return this.#isStalled;
  }

  alive(): void {
    this.#cancel();
    this.#cancel = this.#arm(this.#stall);
  }

  end(): void {
    this.#cancel();
    this.#parent.removeEventListener('abort', this.#passOn);
  }

  readonly #stall = (): void => {
    this.#isStalled = true;
    this.#controller.abort(new Error('the watch gave no sign of life'));
  };

  readonly #passOn = (): void => this.#controller.abort(this.#parent.reason);
}
