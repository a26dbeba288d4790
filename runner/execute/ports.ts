// The ports of the engine: what it needs from the rim, in its own words. Adapters live in `runner/state`, `runner/sources`,
// `runner/steps`, `runner/targets` and `runner/session`; only the wiring (`runner/main.ts`, `cli`) meets them.
import type { CardGrant, Census, Counts, FencingToken, Json, SourceChange, UpdateResult } from '../protocol/index.ts';
import type { Element, FieldValue, Item } from '../sdk/index.ts';

// ---- the way up: to whoever admits runs -------------------------------------------------------------------------

export type { CardGrant, Runner, UpdateProgress, Uplink } from '../protocol/index.ts';

// ---- what to do with an item -------------------------------------------------------------------------------------

/** A Pipeline as the engine executes it; the wiring makes it of the spec, with steps and targets already built. */
export interface PipelinePlan {
  readonly component: ComponentPlan;
  readonly targets: readonly Target[];
  /** Largest content that is read; the `read` step's bound. Absent: no step reads content, and the version token stands for it. */
  readonly maxContentBytes?: number;
}

/** Steps of a component, in order. */
export interface ComponentPlan {
  readonly steps: readonly PlannedStep[];
  /** Class of runner that runs of this component need (A12); absent: any. */
  readonly runnerClass?: string;
}

export type PlannedStep =
  | {
      readonly verb: string;
      readonly step: Step;
      readonly retry?: RetrySettings;
      readonly timeoutMs?: number;
      /** Thousandths of a card that `withCard` holds; above 1,000 whole cards. */
      readonly gpuMilli?: number;
    }
  /** Calls a function of a user's module, which may mount components and declare rows. */
  | {
      readonly verb: 'module';
      readonly module: UserModule;
      /** Exported function that is called. */
      readonly entry: string;
      /** Handed to the module's functions as it stands in the spec. */
      readonly settings?: unknown;
      readonly retry?: RetrySettings;
      /** Time of the function itself: while it waits for components that it mounted, none passes. */
      readonly timeoutMs?: number;
      readonly gpuMilli?: number;
    }
  /** Declares the elements as rows of a target and passes them on. */
  | { readonly verb: 'export'; readonly target: string }
  /** Mounts a component for each element and passes the elements on. */
  | {
      readonly verb: 'forEach';
      readonly component: ComponentPlan;
      /** Field of the element that names its component; default: text and occurrence. */
      readonly key?: string;
      /** Bounds of elements in flight per parent run: rows, and bytes of their text. An element heavier than the bound runs alone. */
      readonly maxInflightRows?: number;
      readonly maxInflightBytes?: number;
    };

/** A file of a user's code, loaded once per runner. */
export interface UserModule {
  /** Its file, as people know it. */
  readonly name: string;
  /** Hash of its file and of the files that it imports. */
  readonly identity: string;
  /** The exported function of that name. */
  find(name: string): UserFunction | undefined;
  /** Name under which it exports a function. */
  nameOf(exported: unknown): string | undefined;
  /** Lines of a stack that are of user code, as people read them: function, file and line. */
  framesOf(stack: string): readonly string[];
}

/** Functions of the module's steps and components; what they take and return is checked when they are called. */
export type UserFunction = (input: never, context: never) => unknown;

/** Attempts in all, the first one included. Waits double from `baseMs` up to `maxMs`, with full jitter; Retry-After wins where longer. */
export interface RetrySettings {
  readonly attempts: number;
  readonly baseMs?: number;
  readonly maxMs?: number;
}

/** A LiveSource as the engine needs it. */
export interface SourcePlan {
  readonly source: Source;
  /** A cycle that would delete more than both bounds say stops before its first delete. */
  readonly deleteGuard: { readonly maxPercent: number; readonly minItems: number };
}

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
  /** Further values of the item, such as columns of a row: they become fields of its element, and a change of them is one of its content. */
  readonly fields?: { readonly [name: string]: FieldValue };
}

export interface ListOptions {
  readonly signal: AbortSignal;
}

export interface ReadOptions {
  readonly signal: AbortSignal;
  /** More than this is refused as `too-large` without reading it. */
  readonly maxBytes: number;
}

/** A source of items. One instance serves one LiveSource. */
export interface Source {
  /**
   * The items as they are now, in batches of at most 1,000, each key once. Ending without an error means that the listing is whole;
   * whatever could not be listed must throw, so that nothing is deleted by mistake (F1).
   */
  list(options: ListOptions): AsyncIterable<readonly ListedItem[]>;
  /**
   * The item's version now, without its content; undefined: it is gone. `notBeforeMs`: the answer is at least as new as this moment, such as
   * that at which a watcher saw a change; absent: it may be a second old where asking is costly (a remote repository).
   */
  stat(key: string, signal: AbortSignal, notBeforeMs?: number): Promise<ListedItem | undefined>;
  /**
   * Reads an item as it is now: `version` is a hint, newer content is better. Undefined: it is gone.
   * Throws StepError (`invalid` where only another content helps).
   */
  read(key: string, version: string, options: ReadOptions): Promise<ItemContent | undefined>;
  /**
   * Changes as they are seen, until the signal aborts. Absent for sources that cannot watch.
   * The first (perhaps empty) batch is yielded once the watch is armed: a change after that is never missed silently.
   * A watch that lost its footing throws; it is started again with back-off and a cycle follows. One that only lost track yields a `rescan`.
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
  /** Full reprocess: memoised results are not to be used (the engine's `memo` misses by itself). */
  readonly reprocess: boolean;
  /** Reads the item's content once per run; every caller gets the same bytes. More than `maxBytes` is `too-large`. */
  content(maxBytes: number): Promise<ItemContent>;
  /** Memo of functions, shared by all runs of the Pipeline. */
  readonly memo: Memo;
  /** Tells people a fact about the item that is no error, such as "is binary". The engine keeps a bounded number. */
  note?(text: string): void;
  /** What the step tells of its requests to something outside. */
  readonly calls?: StepCalls;
  /** Update that the run belongs to. Calls of different updates never share a batch that holds a card (G3). */
  readonly update: string;
  /**
   * Runs `body` while the step's card share is held; without `gpu` on the step it runs at once. The body cannot mount (G2), and it bounds its own
   * time. `signal`: while the share is waited for; a batch gives its own, since it goes on without its oldest caller. Default: the step's.
   */
  withCard<T>(body: (cards: CardGrant | undefined) => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** For metrics and for the trace of the run's update; see `callFor`. */
export interface StepCalls {
  /** W3C trace context to send along; undefined: the run is not traced. */
  readonly traceparent: string | undefined;
  /** A request begins: a span of the run, if it is traced. The answer ends it, with what was thrown if it failed. */
  begin(name: string, count: number): (thrown?: unknown) => void;
  /** A request ended: counted. */
  ended(thrown?: unknown): void;
}

/** One verb of a Pipeline, made once per runner and shared by all runs. */
export interface Step {
  /** What of this step decides its result: verb, settings, code version, model and dimensions. Part of every memo key. */
  readonly identity: string;
  /** Throws StepError. The engine retries by class, with what the step had put into the memo still there. */
  run(elements: readonly Element[], context: StepContext): Promise<readonly Element[]>;
  close(): Promise<void>;
}

/** Results of functions by key (32 hex digits of a hash). Values are bytes; a vector is its Float32Array's bytes. */
export interface Memo {
  /** Known results, aligned with `keys`: from this run, from the memo, from rows of targets (by `vectorKey`). */
  get(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]>;
  /** Remembers results: for the run at once; beyond it only where no committed row holds them. */
  put(entries: readonly MemoEntry[]): void;
}

export interface MemoEntry {
  readonly key: string;
  readonly value: Uint8Array;
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
  /** Text, place, language, fields, vector and its `vectorKey` (lets a later run reuse the vector). */
  readonly element: Element;
}

/** What becomes of one component's rows in one target: all of it or nothing. Deletes come first. */
export interface RowChange {
  readonly owner: string;
  readonly upserts: readonly TargetRow[];
  /** Rows whose text and vector stayed and whose place, language or fields moved. `element.vector` may be absent: it stays. */
  readonly touches: readonly TargetRow[];
  /** Ids that go; those that are not there are no error. */
  readonly deletes: readonly string[];
  /** Everything that the owner has goes first, known or not; then `upserts` come. Used by removals and full reprocess. */
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
   * What of its settings decides whether old rows can stay (table, dimensions, metric). Part of the fingerprint: when it differs, every
   * item is written again and rows that were recorded under another identity are taken to be gone.
   */
  readonly identity: string;
  /** Whether it lives in the state's own store: then `StateStore.commit` applies its changes in the same transaction, and the engine never calls `apply`. */
  readonly shared: boolean;
  /**
   * Creates or migrates the target's own tables; refuses a table that is not Fairlead's. Answers `rebuilt` if the settings changed so that
   * its old rows are gone and every item must be written again (dimensions, metric); `adopted` if it holds rows of a state of this Pipeline that
   * was lost: they stay searchable, each component's old rows go with its first change, and the rest goes with `sweep`.
   * A target that was opened to be looked at writes nothing: `rebuilt` says what would be, and where nothing was made yet it throws `NothingIndexed`.
   */
  prepare(): Promise<'ready' | 'rebuilt' | 'adopted'>;
  /** After `adopted`, once every source was listed whole: removes what no component has claimed. Answers how many components' rows went. */
  sweep?(): Promise<number>;
  /** Applies a group of components' changes, in order. Called only where `shared` is false. A rejection may have applied some of them. */
  apply(changes: readonly RowChange[]): Promise<void>;
  /** Vectors that rows hold, by memo key; where a target cannot answer it returns nothing. */
  vectors(keys: readonly string[]): Promise<ReadonlyMap<string, Float32Array>>;
  /** Whether `vectors` can answer: then a committed row holds its vector and the memo lets go of it. */
  readonly keepsVectors: boolean;
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
  /** Same version, same fingerprint, last run succeeded, and no work on it is wanted at another version. */
  | 'unchanged'
  | 'new'
  /** Version token differs; or a delete or another version of it stands in the work list, which the listing contradicts. */
  | 'changed'
  /** Same content, other spec, code, model or dimensions. */
  | 'stale'
  /** Same version, but its last run failed: tried again. */
  | 'failed'
  /** Same version, and it took down too many runners: left alone until released or changed. */
  | 'quarantined';

export interface Comparison {
  /** Row number of the item in the state; 0 if it is new. Small, dense, never used again, so that seen items fit a bitmap. */
  readonly id: number;
  readonly verdict: Verdict;
}

/** How many items of a source the state knows, and the greatest id that was given out so far in the whole store. */
export interface Extent {
  readonly items: number;
  readonly lastId: number;
}

/** What an item's record holds. */
export interface ItemRecord {
  readonly id: number;
  readonly source: string;
  readonly key: string;
  /** Version of the last run, failed or not. */
  readonly version: string;
  /** Of the last run that succeeded; empty if none did. */
  readonly contentHash: string;
  readonly fingerprint: string;
  readonly status: 'ok' | 'failed' | 'quarantined';
  readonly error?: string;
  /** Consecutive failed runs, and runners lost under it; both 0 after a success. */
  readonly failures: number;
  readonly losses: number;
  /** When the version was committed. */
  readonly committedAtMs: number;
  /** Last time that a commit touched it. */
  readonly seenAtMs: number;
}

/** One thing to be done. The list holds at most one entry for a key: the newest wanted version. */
export interface NewWork {
  readonly source: string;
  readonly key: string;
  readonly action: 'process' | 'delete';
  /** Wanted version; empty: whatever is there when the run reads it. */
  readonly version: string;
  readonly sizeBytes?: number;
  readonly reprocess?: boolean;
  /** The comparison said `new`: a run of this entry need not ask what the state knows of the item. A store may forget it. */
  readonly fresh?: boolean;
  /** Update that will do it. */
  readonly update: string;
  /** When this was known to be so, by the store's clock: for a delete, when the listing that missed it began. */
  readonly seenAtMs: number;
}

export interface WorkEntry extends NewWork {
  /** Order of entry; grows with each entry and each take-over. */
  readonly seq: number;
  /** Runners (or processes) that died while they worked on it, see `startWork`. */
  readonly losses: number;
}

/** Names an entry of the work list, if the update still has it. */
export type WorkRef = Pick<NewWork, 'source' | 'key' | 'update'>;

/**
 * What became of work that was offered, compared with the entry that is there:
 *   W1. No entry: `entered`.
 *   W2. Same action and version (and no less of `reprocess`), whichever update: `known`, nothing changes.
 *   W3. Else, an offer whose `seenAtMs` is not below the entry's takes it over: the entry is replaced with a new `seq`, `losses` 0,
 *       `reprocess` if either asked for it; `tookOver` names the update that had it (it may be the same one).
 *   W4. Else `older`: nothing changes.
 *   W5. A delete whose `seenAtMs` is not above the item's own `seenAtMs` is `older`: the item was seen after the listing began.
 *       A delete of an item that the state does not know, and that has no entry, is `known`.
 *   W6. An entry is `fresh` only if the state knows no component of the item at this moment: another update may have committed it since the
 *       comparison.
 */
export type Entered =
  | { readonly kind: 'entered'; readonly seq: number; readonly fresh?: boolean }
  | { readonly kind: 'tookOver'; readonly seq: number; readonly from: string }
  | { readonly kind: 'known' }
  | { readonly kind: 'older' };

/**
 * What the state keeps of a component; absent as long as it never succeeded. For an item it is the same record as its `ItemRecord`
 * (`itemPath(source, key)`).
 */
export interface ComponentRecord {
  readonly path: string;
  readonly fingerprint: string;
  readonly contentHash: string;
  /** Of the last commit of any kind. */
  readonly token: FencingToken;
  /** Rows that it owns by target name, packed (`runner/execute/rows.ts`; the store keeps the bytes as they are). */
  readonly rows: ReadonlyMap<string, Uint8Array>;
  /** Rows that it may own besides: recorded by `intend` and not yet settled by a commit. Several packed lists for a target may stand one after another. */
  readonly intended: ReadonlyMap<string, readonly Uint8Array[]>;
  /** Whether memo entries in use belong to it. */
  readonly memoised: boolean;
  /** Value that the component returned to its parent, for a memo hit. */
  readonly value?: Json;
}

/** What a run of a component finds when it begins. */
export interface Opened {
  /** Entry of the work list; only for items. */
  readonly work?: WorkEntry;
  readonly item?: ItemRecord;
  readonly component?: ComponentRecord;
}

/** A component, and the item that it is (absent for nested components). */
export interface ComponentRef {
  readonly path: string;
  readonly item?: { readonly source: string; readonly key: string };
}

interface CommitBase {
  readonly path: string;
  readonly token: FencingToken;
  /** Set for an item's own component: what its record becomes. */
  readonly item?: { readonly source: string; readonly key: string; readonly version: string };
  /** Takes the item's work entry off if it still belongs to this update (a newer update's entry stays). */
  readonly settles?: string;
  /** Number of that entry, where the run knows it: an entry of the key that came later stays, whichever update it belongs to. */
  readonly settlesSeq?: number;
}

/** What becomes of memo entries, in the same transaction. Entries of the component that are named nowhere are retired. */
export interface MemoChange {
  /** Results that the component uses from now on and that no row holds. */
  readonly put: readonly MemoEntry[];
  /** Keys in the memo that it goes on using: they become the component's own. */
  readonly uses: readonly string[];
  /** Keys that rows hold now: dropped. */
  readonly drop: readonly string[];
  /** Vectors of rows that go: kept by age only. */
  readonly retire: readonly MemoEntry[];
}

/** One component's outcome, recorded as a whole or not at all. */
export type Commit =
  /** New rows in place of the old ones. Status `ok`, failures and losses 0. */
  | (CommitBase & {
      readonly kind: 'replace';
      /** Token of the record that `changes` were computed against; absent: it had never succeeded. */
      readonly base?: FencingToken;
      readonly fingerprint: string;
      readonly contentHash: string;
      /** By target name; all that it owns from now on. */
      readonly rows: ReadonlyMap<string, Uint8Array>;
      /** By target name, only of shared targets: applied in the same transaction. */
      readonly changes: ReadonlyMap<string, RowChange>;
      /** Absent: memo entries stay as they are. */
      readonly memo?: MemoChange;
      readonly value?: Json;
    })
  /** Content and fingerprint proved equal: only version token and times of the item's record change; status `ok`, failures and losses 0. */
  | (CommitBase & { readonly kind: 'touch'; readonly base?: FencingToken })
  /** The attempt failed: rows, hash and fingerprint stay. `failures` grows by one, `losses` are set. Creates the item's record if there is none. */
  | (CommitBase & {
      readonly kind: 'fail';
      readonly status: 'failed' | 'quarantined';
      readonly error: string;
      readonly losses: number;
    })
  /** The component goes, with its item's record, its cursor and its intents; its memo entries are retired. No record: no error. */
  | (CommitBase & {
      readonly kind: 'remove';
      readonly base?: FencingToken;
      readonly changes: ReadonlyMap<string, RowChange>;
      readonly memo?: MemoChange;
    });

export type CommitResult =
  | { readonly kind: 'committed' }
  /** Nothing of the component was written: newer work was there (`token`), or a newer leader has opened the store (`epoch`). */
  | { readonly kind: 'fenced'; readonly by: 'token' | 'epoch' }
  /** The record is not `base` any more, though the token would do: read it again. Nothing was written. */
  | { readonly kind: 'moved' };

/** Rows that may come to exist in targets outside the store, recorded before they are applied (roll forward). */
export interface Intent {
  readonly path: string;
  readonly token: FencingToken;
  readonly item?: { readonly source: string; readonly key: string };
  readonly rows: ReadonlyMap<string, Uint8Array>;
}

export interface UpdateRecord {
  readonly name: string;
  readonly kind: 'pipeline' | 'cycle' | 'key';
  readonly source?: string;
  readonly key?: string;
  readonly trigger: string;
  readonly startedAtMs: number;
  readonly endedAtMs?: number;
  readonly result: 'Running' | UpdateResult;
  readonly counts: Counts;
  readonly listed: boolean;
  readonly message?: string;
  readonly traceId?: string;
}

/**
 * Durable truth of one Pipeline. SQLite in one process, Postgres when shared; one contract suite for both.
 * Batched calls answer aligned with their argument. A rejection means that nothing of the call was written.
 */
export interface StateStore {
  /**
   * Refuses whoever may not work beside those that do, with a message that names one of them; claims the epoch: older epochs are fenced from now
   * on. `next`: one more than the newest that the store saw, for a process that has no leader above it. Answers the epoch that tokens must carry:
   * a leader's may be shifted, when the store has seen greater ones than it knows of. Tokens of later leaders are shifted by as much.
   */
  open(epoch: number | 'next'): Promise<number>;
  close(): Promise<void>;
  /**
   * The store's clock (of the server, where there is one); all times in records are by it. Never gives the same time twice: fractions of a
   * millisecond break ties, and each transaction that records times takes a time of its own, so that "seen after the listing began" is exact.
   */
  nowMs(): Promise<number>;

  /** Compares a batch of a listing. Reads only. */
  compare(source: string, items: readonly ListedItem[], fingerprint: string): Promise<readonly Comparison[]>;
  /** What runs find when they begin, batched over runs. */
  begin(components: readonly ComponentRef[]): Promise<readonly Opened[]>;
  item(source: string, key: string): Promise<ItemRecord | undefined>;
  /** Items of a source (or of all) by ascending id. `otherThan`: only those whose fingerprint is another one. */
  scanItems(
    filter: { readonly source?: string; readonly status?: ItemRecord['status']; readonly otherThan?: string },
    afterId: number,
    limit: number,
  ): Promise<readonly ItemRecord[]>;
  /** The least of an item, by ascending id, for finding those that a listing missed. */
  scanKeys(
    source: string,
    afterId: number,
    limit: number,
  ): Promise<readonly { readonly id: number; readonly key: string; readonly seenAtMs: number }[]>;
  extent(source: string): Promise<Extent>;
  /** Counts the items of all sources, by name. */
  census(): Promise<Census>;
  /** Lets quarantined items run again; all of them when no keys are given. */
  release(source: string | undefined, keys?: readonly string[]): Promise<number>;

  /** Offers work (W1 to W5), in one transaction. */
  enter(work: readonly NewWork[]): Promise<readonly Entered[]>;
  /** Entries of an update after `afterSeq`, oldest first. */
  takeWork(update: string, afterSeq: number, limit: number): Promise<readonly WorkEntry[]>;
  /** Marks entries as being worked on: if the process dies now, adopting them counts a loss. */
  startWork(entries: readonly WorkRef[]): Promise<void>;
  /** Takes the marks off entries that are not done, and that nobody works on any more. */
  restWork(entries: readonly WorkRef[]): Promise<void>;
  countWork(filter: { readonly update?: string; readonly source?: string }): Promise<number>;
  /**
   * Gives the source's entries of all updates but `open` to `update`, in their order. Deletes among them are dropped: the listing that follows
   * finds them again. Entries that were marked by `startWork` get one loss more. Answers how many there are now.
   */
  adoptWork(source: string, update: string, open: readonly string[]): Promise<number>;
  /** Takes entries of an update off without doing them; where `seq` is given only that one. */
  dropWork(
    update: string,
    items: readonly { readonly source: string; readonly key: string; readonly seq?: number }[],
  ): Promise<void>;

  /** Records of components; for nested components before they are mounted. */
  components(paths: readonly string[]): Promise<readonly (ComponentRecord | undefined)[]>;
  /** Paths of the components directly below a path, by ascending path; items that never succeeded are among them. */
  children(path: string, afterPath: string, limit: number): Promise<readonly string[]>;
  /**
   * Records rows that are about to be applied outside the store; fenced as `commit` is, but never `moved`. Until a commit settles it, a record
   * that exists has lost its fingerprint, so that an apply that was interrupted is found by the next listing, whatever the version.
   */
  intend(intents: readonly Intent[]): Promise<readonly CommitResult[]>;
  /**
   * Records that the rows of these components may differ from their targets (a presumed dead runner wrote late): the rows are kept as intended,
   * and the fingerprint is forgotten, so that the next cycle writes them again. Not fenced.
   */
  doubt(intents: readonly Intent[]): Promise<void>;
  /** Records a group in one transaction, each component all-or-nothing and fenced; shared targets are applied inside it. */
  commit(group: readonly Commit[]): Promise<readonly CommitResult[]>;

  memo: {
    get(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]>;
    /**
     * Keeps results that no commit holds; retired from the start, so by age only. Of a known key the value stays; if it is retired, its age begins
     * anew, to the hour.
     */
    put(entries: readonly MemoEntry[]): Promise<void>;
    /** Drops retired entries older than `maxAgeMs`. */
    collect(maxAgeMs: number): Promise<number>;
  };

  /** Small resume points of live components (cursors); cleared when the component is deleted. */
  cursor(path: string): Promise<Json | undefined>;
  setCursor(path: string, value: Json): Promise<void>;
  /** Cursors of components at and below a path, by ascending path. */
  cursors(
    path: string,
    afterPath: string,
    limit: number,
  ): Promise<readonly { readonly path: string; readonly value: Json }[]>;

  /** Inserts or replaces by name; keeps the newest 1,000. */
  saveUpdate(update: UpdateRecord): Promise<void>;
  /** Newest first. */
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
