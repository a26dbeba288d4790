// A reflector keeps a local copy of one kind of object: it lists, then watches. What the copy does with that is R1, R2, R5, R6 in copy.ts.
//
//   R3. A watch without a byte for `stallMs` is dead (bookmarks come every 60 s): it is reopened from the last version. A second silence in a
//       row means a list: a server that was restored from an older time answers a version that it does not have yet with silence.
//   R4. 410 means relist now; 429, 5xx and lost connections mean reopen from the last version, with back-off.
//   R7. `stop()` can be awaited and raises nothing.
//   R8. A watch can lose an event without a trace. A list now and then finds that, heals it, and counts it as missed.
import { type Change, LocalCopy } from './copy.ts';
import { ApiError, isGone, statusError } from './errors.ts';
import { collectionPath, type KubeObject, type Resource } from './objects.ts';
import { jitteredBackoff, pause } from './pause.ts';
import type { KubeApi } from './rest.ts';
import type { Indexer, ObjectStore } from './store.ts';
import { WatchSignal } from './watch-signal.ts';

export type ReflectorState =
  | { readonly phase: 'init' }
  | { readonly phase: 'listing' }
  | { readonly phase: 'watching'; readonly sinceMs: number }
  | { readonly phase: 'backoff'; readonly attempt: number; readonly error: unknown }
  | { readonly phase: 'stopped' };

/** Why a list was made. `silent`: two watches in a row gave no sign of life (R3). `audit`: it was time (R8). */
export type ListReason = 'start' | 'expired' | 'not-served' | 'silent' | 'audit';

/** For metrics and logs. */
export interface ReflectorObserver {
  listed(kind: string, why: ListReason, objects: number, tookMs: number): void;
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
  /** What is kept of an object; undefined: nothing. Absent: all but what only the server needs. */
  readonly keep?: (object: T) => T | undefined;
  readonly onChange: (change: Change<T>) => void;
  readonly observer?: ReflectorObserver;
  readonly stallMs?: number;
  /** Age of a list after which the next watch begins with another (R8). */
  readonly auditMs?: number;
}

const PAGE_SIZE = 500;
const LIST_DEADLINE_MS = 60_000;
const STALL_MS = 95_000;
/** Watches last up to ten minutes, so lists are made every 45 to 60: few beside what they cost, and no lost event lasts longer. */
const AUDIT_MS = 2_700_000;
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
  readonly #copy: LocalCopy<T>;
  readonly #options: ReflectorOptions<T>;
  readonly #path: string;
  readonly #abort = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #state: ReflectorState = { phase: 'init' };
  #loop: Promise<void> | undefined;
  /** Version to watch from; undefined: a list is due. */
  #version: string | undefined;
  #listReason: ListReason = 'start';
  #listedMs = 0;
  #failures = 0;
  /** Watches in a row that ended without a byte. */
  #silences = 0;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#path = collectionPath(options.resource, options.namespace);
    const { indexers, keep, onChange, observer, resource } = options;
    this.#copy = new LocalCopy<T>({
      onChange,
      handlerFailed: (error) => observer?.handlerFailed(resource.kind, error),
      ...(indexers && { indexers }),
      ...(keep && { keep }),
    });
    this.#synced.promise.catch(() => {}); // nobody has to wait for it
  }

  get store(): ObjectStore<T> {
    return this.#copy.store;
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
        this.#auditIfDue();
        if (this.#version === undefined) await this.#list();
        await this.#watch();
      } catch (error) {
        if (!signal.aborted) await this.#recover(error);
      }
    }
  }

  async #recover(error: unknown): Promise<void> {
    if (isGone(error))
      this.#relist('expired'); // R4
    else if (error instanceof ApiError && error.code === 404) this.#relist('not-served'); // not yet: wait for it
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

  #relist(why: ListReason): void {
    this.#version = undefined;
    if (this.#listReason !== 'start') this.#listReason = why;
  }

  #auditIfDue(): void {
    const { auditMs = AUDIT_MS, api } = this.#options;
    const isDue = this.#version !== undefined && api.clock.nowMs() - this.#listedMs >= auditMs;
    if (isDue) this.#relist('audit');
  }

  // ---- list ------------------------------------------------------------------------------------------------------

  async #list(): Promise<void> {
    this.#state = { phase: 'listing' };
    const { clock } = this.#options.api;
    const startedMs = clock.nowMs();
    const { objects, version } = await this.#pages();
    const changes = this.#copy.replace(objects);
    this.#version = version;
    this.#listedMs = startedMs;
    const kind = this.#options.resource.kind;
    this.#options.observer?.listed(kind, this.#listReason, objects.length, clock.nowMs() - startedMs);
    if (this.#listReason !== 'start' && changes > 0) this.#options.observer?.missed(kind, changes);
    this.#listReason = 'expired'; // what the next one is for, unless it is told
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
      for (const item of page.items) {
        const kept = this.#copy.kept(this.#named(item));
        if (kept !== undefined) objects.push(kept);
      }
      from = page.metadata.continue;
      if (!from) return { objects, version: page.metadata.resourceVersion };
    }
  }

  /** Items of a list do not say what they are. */
  #named(item: T): T {
    const { group, version, kind } = this.#options.resource;
    return { ...item, apiVersion: group === '' ? version : `${group}/${version}`, kind };
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
        this.#silences = 0;
        if (line !== '' && this.#apply(JSON.parse(line) as WatchEvent)) events++;
      }
      why = 'ended';
    } catch (error) {
      if (!watch.isStalled) throw error;
      why = 'stalled'; // R3
      if (++this.#silences > 1) this.#relist('silent');
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
    if (event.type === 'DELETED') this.#copy.sawEnd(event.object as T);
    else this.#copy.saw(event.object as T);
    return true;
  }
}
