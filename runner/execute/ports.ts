// The ports of the engine: what it needs from the rim, in its own words. Adapters live in `runner/state`, `runner/sources`,
// `runner/steps`, `runner/targets` and `runner/session`; only the wiring (`runner/main.ts`, `cli`) meets them.
import type { Counts, FencingToken, Json, SourceChange } from '../protocol/index.ts';
import type { Element, Item } from '../sdk/index.ts';

// ---- the way up: to whoever admits runs -------------------------------------------------------------------------

export type { Runner, UpdateProgress, Uplink } from '../protocol/index.ts';

// ---- sources -----------------------------------------------------------------------------------------------------

/** One entry of a listing. */
export interface ListedItem {
  readonly key: string;
  /** Equal tokens mean equal content. For files: size, times and inode; for git: the blob's hash. */
  readonly version: string;
  readonly sizeBytes?: number;
}

/** Content of an item at the moment of reading. */
export interface ItemContent {
  /** Version that was really read; may be newer than the one that was asked for. */
  readonly version: string;
  readonly bytes: Uint8Array;
}

export interface ListOptions {
  readonly signal: AbortSignal;
}

export interface ReadOptions {
  readonly signal: AbortSignal;
  /** More than this is refused as `invalid` ("too large") without reading it. */
  readonly maxBytes: number;
}

/** A source of items. One instance serves one LiveSource. */
export interface Source {
  /**
   * The items as they are now, in batches of at most 1,000, each key once. Ending without an error means that the listing is whole;
   * whatever could not be listed must throw, so that nothing is deleted by mistake (F1).
   */
  list(options: ListOptions): AsyncIterable<readonly ListedItem[]>;
  /** The item's version now, without its content; undefined: it is gone. */
  stat(key: string, signal: AbortSignal): Promise<ListedItem | undefined>;
  /** Reads an item; undefined: it is gone. Throws StepError (`invalid` where only another content helps). */
  read(key: string, version: string, options: ReadOptions): Promise<ItemContent | undefined>;
  /**
   * Changes as they are seen, until the signal aborts. Absent for sources that cannot watch.
   * The first (perhaps empty) batch is yielded once the watch is armed: a change after that is never missed silently.
   */
  watch?(signal: AbortSignal): AsyncIterable<readonly SourceChange[]>;
  /** What the last listing was of, such as a commit; for traces and `updates`. */
  revision?(): string | undefined;
  /** Facts for people that are no errors: ignored submodules, skipped binaries. Bounded; cleared by the call. */
  takeNotes?(): readonly string[];
  close(): Promise<void>;
}

// ---- steps -------------------------------------------------------------------------------------------------------

/** What a step may use while it works on one item. */
export interface StepContext {
  readonly item: Item;
  /** Aborts on cancellation and on the step's timeout. */
  readonly signal: AbortSignal;
  /** Full reprocess: memoised results are not to be used. */
  readonly reprocess: boolean;
  /** Reads the item's content once per run; every caller gets the same bytes. */
  content(maxBytes: number): Promise<ItemContent>;
  /** Memo of functions, shared by all runs of the Pipeline. */
  readonly memo: Memo;
  /** Runs `body` while the step's card share is held; without `gpu` on the step it runs at once. */
  withCard<T>(body: (cards: CardGrant | undefined) => Promise<T>): Promise<T>;
}

/** Cards of a run's runner that a body may use. */
export interface CardGrant {
  /** Indices of the cards on the runner, as `CUDA_VISIBLE_DEVICES` counts them. */
  readonly cards: readonly number[];
  /** Thousandths of each card. */
  readonly milliShare: number;
}

/** One verb of a Pipeline, made once per runner and shared by all runs. */
export interface Step {
  /** What of this step decides its result: verb, settings, code version, model and dimensions. Part of every memo key. */
  readonly identity: string;
  run(elements: readonly Element[], context: StepContext): Promise<readonly Element[]>;
  close(): Promise<void>;
}

/** Results of functions by key. Values are bytes; a vector is its Float32Array's bytes. */
export interface Memo {
  /** Known results, aligned with `keys`. */
  get(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]>;
  /** Remembers results until the run commits; kept longer only where a row does not hold them anyway. */
  put(entries: readonly { readonly key: string; readonly value: Uint8Array }[]): void;
}

// ---- targets -----------------------------------------------------------------------------------------------------

/** One row as a target stores it. */
export interface TargetRow {
  /** 32 hex digits, derived from component path, text and occurrence, so that equal input gives equal ids (F37). */
  readonly id: string;
  /** Component that owns the row. */
  readonly owner: string;
  readonly source: string;
  readonly key: string;
  readonly element: Element;
  /** Memo key of the vector (text, model, dimensions); absent without vector. Lets a later run reuse the vector. */
  readonly vectorKey?: string;
}

/** What becomes of one component's rows in one target: all of it or nothing. */
export interface RowChange {
  readonly owner: string;
  readonly upserts: readonly TargetRow[];
  /** Rows whose text and vector stayed and whose place or fields moved. */
  readonly touches: readonly Omit<TargetRow, 'vectorKey'>[];
  readonly deletes: readonly string[];
  /** Everything that the owner has goes, known or not; used by deletes and by "previous may be missing". */
  readonly deleteAll?: boolean;
}

export interface SearchHit {
  readonly source: string;
  readonly key: string;
  readonly score: number;
  readonly element: Element;
}

/** A place where rows go. Applying is idempotent: the same change twice leaves the same rows. */
export interface Target {
  readonly name: string;
  /**
   * Creates or migrates the target's own tables; refuses a table that is not Fairlead's. Answers `rebuilt` if the settings changed so that
   * its old rows are gone and every item must be written again (dimensions, metric).
   */
  prepare(): Promise<'ready' | 'rebuilt'>;
  /** Applies a group. Inside a shared store the group is part of the state's transaction and `shared` says so. */
  apply(changes: readonly RowChange[]): Promise<void>;
  /** Vectors that rows hold, by memo key; where a target cannot answer it returns nothing. */
  vectors(keys: readonly string[]): Promise<ReadonlyMap<string, Float32Array>>;
  /** Ids of the rows that exist, with their owners, in pages by id; for `verify`. */
  scan(afterId: string, limit: number): Promise<readonly { readonly id: string; readonly owner: string }[]>;
  /** Hybrid search; absent where the target cannot. `vector` is absent when the Pipeline does not embed. */
  search?(query: {
    readonly text: string;
    readonly vector?: Float32Array;
    readonly limit: number;
  }): Promise<readonly SearchHit[]>;
  /** Removes all that the target made; for `deletionPolicy: Delete`. */
  drop(): Promise<void>;
  close(): Promise<void>;
}

// ---- state -------------------------------------------------------------------------------------------------------

/** What the state knows of an item that a listing named. */
export type Verdict =
  /** Same version, same fingerprint, last run succeeded. */
  | 'unchanged'
  | 'new'
  /** Version token differs. */
  | 'changed'
  /** Same content, other spec, code, model or dimensions. */
  | 'stale'
  /** Same version, but its last run failed: tried again. */
  | 'failed'
  /** Took down too many runners: left alone until released or changed. */
  | 'quarantined';

export interface Comparison {
  /** Row number of the item in the state; 0 if it is new. Small and dense, so that seen items fit a bitmap. */
  readonly id: number;
  readonly verdict: Verdict;
}

/** What an item's record holds. */
export interface ItemRecord {
  readonly id: number;
  readonly source: string;
  readonly key: string;
  readonly version: string;
  readonly contentHash: string;
  readonly fingerprint: string;
  readonly status: 'ok' | 'failed' | 'quarantined';
  readonly error?: string;
  /** Consecutive failed runs, and runners lost under it. */
  readonly failures: number;
  readonly losses: number;
  /** When the version was committed. */
  readonly committedAtMs: number;
  /** Last time that a listing or a commit touched it; a cycle deletes no key that was seen after its listing began. */
  readonly seenAtMs: number;
}

/** One thing to be done. The list holds at most one entry for a key: the newest wanted version. */
export interface WorkEntry {
  /** Order of entry. */
  readonly seq: number;
  readonly source: string;
  readonly key: string;
  readonly action: 'process' | 'delete';
  /** Wanted version; empty: whatever is there when the run reads it. */
  readonly version: string;
  readonly sizeBytes?: number;
  /** Update that will do it. */
  readonly update: string;
  readonly enteredAtMs: number;
}

export type NewWork = Omit<WorkEntry, 'seq'>;

/** What became of an entry that was offered. `known`: already wanted at that version. `took-over`: an older update's entry now is this one's. */
export type Entered = 'entered' | 'known' | { readonly tookOverFrom: string };

/** Row ids that a component owns in a target, with what decides whether a row must be written again. */
export interface OwnedRow {
  readonly id: string;
  /** Hash of place and fields; text and vector are in the id. */
  readonly detail: string;
}

/** What the state keeps of a component. */
export interface ComponentRecord {
  readonly path: string;
  readonly fingerprint: string;
  readonly contentHash: string;
  readonly token: FencingToken;
  readonly rows: ReadonlyMap<string, readonly OwnedRow[]>;
  /** Value that the component returned to its parent, for a memo hit. */
  readonly value?: Json;
}

/** One component's outcome, committed as a whole. */
export interface Commit {
  readonly path: string;
  readonly token: FencingToken;
  readonly fingerprint: string;
  readonly contentHash: string;
  readonly value?: Json;
  /** By target name; targets that are not named keep what they have. */
  readonly rows: ReadonlyMap<string, readonly OwnedRow[]>;
  readonly changes: ReadonlyMap<string, RowChange>;
  /** Set for an item: what the item's record becomes. Absent for nested components. */
  readonly item?: {
    readonly source: string;
    readonly key: string;
    readonly version: string;
    readonly sizeBytes?: number;
  };
  /** The component goes, with its record and its item's record. */
  readonly remove?: boolean;
  /** Work entry that this settles: it is taken off if it still is at this version and update. */
  readonly settles?: { readonly source: string; readonly key: string; readonly update: string };
  /** Children that the component mounted this time; others are to be deleted by their own delete runs. */
  readonly children?: readonly string[];
}

export type CommitResult =
  | { readonly kind: 'committed' }
  /** Newer work was there: nothing of the component was written. */
  | { readonly kind: 'fenced' };

export interface UpdateRecord {
  readonly name: string;
  readonly kind: 'pipeline' | 'cycle' | 'key';
  readonly source?: string;
  readonly key?: string;
  readonly trigger: string;
  readonly startedAtMs: number;
  readonly endedAtMs?: number;
  readonly result: 'Running' | 'Succeeded' | 'CompletedWithErrors' | 'Failed' | 'Cancelled';
  readonly counts: Counts;
  readonly listed: boolean;
  readonly message?: string;
  readonly traceId?: string;
}

/** Durable truth of one Pipeline. SQLite in one process, Postgres when shared; one contract suite for both. */
export interface StateStore {
  /** Refuses a second writer with a message that names the first (SQLite); claims the epoch (both). */
  open(epoch: number): Promise<void>;
  close(): Promise<void>;

  /** Compares a batch of a listing, aligned with `items`. Reads only. */
  compare(source: string, items: readonly ListedItem[], fingerprint: string): Promise<readonly Comparison[]>;
  item(source: string, key: string): Promise<ItemRecord | undefined>;
  /** Items of a source (or of all) by ascending id. */
  scanItems(
    filter: { readonly source?: string; readonly status?: ItemRecord['status'] },
    afterId: number,
    limit: number,
  ): Promise<readonly ItemRecord[]>;
  countItems(source: string): Promise<number>;
  /** Updates version token (and times) of items whose content proved equal. */
  touchItems(source: string, items: readonly ListedItem[]): Promise<void>;
  /** Records a failed attempt without touching rows; `losses` counts runners lost under it. */
  failItem(
    source: string,
    item: ListedItem,
    fingerprint: string,
    failure: { readonly error: string; readonly status: 'failed' | 'quarantined'; readonly lost: boolean },
    settles?: { readonly update: string },
  ): Promise<void>;
  /** Lets quarantined items run again; all of them when no keys are given. */
  release(source: string | undefined, keys?: readonly string[]): Promise<number>;

  enter(work: readonly NewWork[]): Promise<readonly Entered[]>;
  /** Entries of an update after `afterSeq`, oldest first. */
  takeWork(update: string, afterSeq: number, limit: number): Promise<readonly WorkEntry[]>;
  /** The entry of a key, if it is wanted. */
  work(source: string, key: string): Promise<WorkEntry | undefined>;
  countWork(filter: { readonly update?: string; readonly source?: string }): Promise<number>;
  /** Updates that a dead process left with entries. Their entries are given to `update`. */
  adoptWork(source: string, update: string): Promise<number>;
  /** Takes entries off without doing them. */
  dropWork(source: string, keys: readonly string[], update: string): Promise<void>;

  component(path: string): Promise<ComponentRecord | undefined>;
  /** Paths of components strictly below a path, deepest first. */
  descendants(path: string, afterPath: string, limit: number): Promise<readonly string[]>;
  /** Records a group in one transaction, each component all-or-nothing and fenced; targets that share the store are applied inside it. */
  commit(group: readonly Commit[]): Promise<readonly CommitResult[]>;

  memo: {
    get(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]>;
    put(
      entries: readonly { readonly key: string; readonly value: Uint8Array; readonly owner: string }[],
    ): Promise<void>;
    /** Drops entries of an owner that rows now hold, and those unused for longer than `maxAgeMs`. */
    collect(options: { readonly owner?: string; readonly maxAgeMs?: number }): Promise<void>;
  };

  /** Small resume points of live components (cursors); cleared when the component is deleted. */
  cursor(path: string): Promise<Json | undefined>;
  setCursor(path: string, value: Json): Promise<void>;

  saveUpdate(update: UpdateRecord): Promise<void>;
  updates(limit: number): Promise<readonly UpdateRecord[]>;
  /** Store size for people and metrics. */
  sizes(): Promise<{
    readonly bytes: number;
    readonly items: number;
    readonly components: number;
    readonly memoEntries: number;
    readonly work: number;
  }>;
}
