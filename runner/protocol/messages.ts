// What crosses the link between the operator and a runner, as plain data.
// One process (`fairlead dev`) passes these objects by reference; two processes pass them as protobuf.
//
//   L1. A run is named by its fencing token: (epoch, run, attempt). A later grant always has a greater token.
//   L2. Messages carry keys, versions and small JSON, never content (256 KiB at most for an input).
//   L3. The trace context travels inside the message, not in the transport.

/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Path of a component: its ancestors' keys and its own, see `runner/protocol/path.ts`. */
export type ComponentPath = string;

/** Number of a run: the epoch in which it was first asked for × 2^36, plus a counter. So a new leader never gives a number twice. */
export type RunNumber = number;

/** Largest epoch whose run numbers are exact integers. */
export const EPOCH_MAX = 2 ** 17 - 1;

/** First run number of an epoch. */
export function firstRunNumber(epoch: number): RunNumber {
  return epoch * 2 ** 36 + 1;
}

/**
 * Proof that a run may still write. Compared by epoch, then run, then attempt; the state store refuses a commit
 * whose token is older than the one that it recorded for the component, or whose epoch is older than the newest one it saw.
 */
export interface FencingToken {
  readonly epoch: number;
  readonly run: RunNumber;
  readonly attempt: number;
}

/** Order of two tokens: negative when `a` is older. */
export function compareTokens(a: FencingToken, b: FencingToken): number {
  return a.epoch - b.epoch || a.run - b.run || a.attempt - b.attempt;
}

/**
 * What a run does.
 * - `cycle`: root of one cycle of a LiveSource: lists, compares, fills the work list, mounts from it.
 * - `pipeline`: root of an update of the whole Pipeline: enters the known items whose fingerprint differs.
 * - `item`: executes the Pipeline's steps on one item of a source.
 * - `element`: executes the steps of a `forEach` on one element that its parent passed.
 * - `module`: executes a component that a user's module mounted.
 * - `delete`: removes a component, its rows and everything below it (A10).
 * - `watch`: a live source's long-running watcher. It takes no slot; what it sees becomes per-key updates.
 */
export type RunKind = 'cycle' | 'pipeline' | 'item' | 'element' | 'module' | 'delete' | 'watch';

/** Wish of a run to have a child executed. */
export interface MountRequest {
  /** Number that the parent gave to this mount; unique within the parent run. */
  readonly mount: number;
  readonly path: ComponentPath;
  readonly kind: RunKind;
  /** LiveSource that the component belongs to; absent for a component of the Pipeline itself. */
  readonly source?: string;
  /** Key of the item within its source. */
  readonly key?: string;
  /**
   * What the run is about to produce: runs of one component with equal versions share one outcome (A9).
   * For an item: its version token and the fingerprint of the spec. Absent: never shared.
   */
  readonly version?: string;
  readonly input?: Json;
  /** Class of runner that is needed (A12); absent: any. */
  readonly runnerClass?: string;
  /** Declared weight for the limits and costs of A11. */
  readonly rows?: number;
  readonly bytes?: number;
  /** Full reprocess: memos miss, rows are written again. Inherited by everything below. */
  readonly reprocess?: boolean;
  /** Largest share of cards that a step of the component asks for, in thousandths of a card: placement counts it. Absent: none does. */
  readonly milliCards?: number;
}

/** Cards of a run's runner that a body may use. */
export interface CardGrant {
  /** Indices of the cards on the runner, as `CUDA_VISIBLE_DEVICES` counts them. */
  readonly cards: readonly number[];
  /** Thousandths of each card. */
  readonly milliShare: number;
}

/** A granted run, sent to the runner that shall execute it. */
export interface RunOrder extends Omit<MountRequest, 'mount'> {
  readonly token: FencingToken;
  /** Name of the update that the run belongs to. */
  readonly update: string;
  /** Path of the live source whose update that is; absent: an update of the Pipeline itself. */
  readonly updateOf?: string;
  /** Run that mounted this one; absent for the root run of an update. */
  readonly parentRun?: RunNumber;
  /** What made the update, such as `interval` or `push`; for root runs. */
  readonly trigger?: string;
  /** `cycle`: consent to delete more than the source's guard allows, for this cycle only. */
  readonly allowDeletes?: boolean;
  /** `cycle`, `pipeline`: quarantined items of the source (or of all) are released first. */
  readonly releaseQuarantined?: boolean;
  /** `cycle`: names of all updates that are open. Work that any other update left behind is adopted by this cycle. */
  readonly openUpdates?: readonly string[];
  /** Runners that went away while they executed this run; at 3 it is not executed any more but quarantined. Absent: none. */
  readonly losses?: number;
  /** What the parked attempt before this one said in `RunOutcome.parked.resume`. */
  readonly resume?: Json;
  /** W3C trace context of the update's root span; absent: the update is not traced. */
  readonly traceparent?: string;
}

/** Counts of an update, of a run and everything below it. `superseded`: taken over by a newer version of the same item. */
export interface Counts {
  readonly unchanged: number;
  readonly added: number;
  readonly reprocessed: number;
  readonly deleted: number;
  readonly failed: number;
  readonly superseded: number;
}

/** Why something failed, for people: what, where, what to do. Never holds a secret or an item's content. */
export interface RunError {
  /** `transient`: another try may help. `invalid`: only another input or spec helps. `lost`: the runner went away. */
  readonly class:
    | 'transient'
    | 'rate-limited'
    | 'too-large'
    | 'invalid'
    | 'timeout'
    | 'lost'
    | 'quarantined'
    | 'internal';
  readonly message: string;
  /** Step that failed, such as `embed`; absent when the failure has no step. */
  readonly step?: string;
  /** The far side's wish, from Retry-After. */
  readonly retryAfterMs?: number;
}

/** `RunError.step` of what a target outside the state store did not take; and of what the state store did not, shared targets included. */
export const TARGET_STEP = 'export';
export const STATE_STEP = 'commit';

/** How a run ended. */
export type RunOutcome =
  /** `heldDeletes`: a cycle stopped before its first delete because there were more than its guard allows; it waits for consent. */
  | { readonly kind: 'done'; readonly counts: Counts; readonly value?: Json; readonly heldDeletes?: HeldDeletes }
  | { readonly kind: 'failed'; readonly counts: Counts; readonly error: RunError }
  /** A newer update took the item over before this run began: nothing was executed. */
  | { readonly kind: 'superseded' }
  | { readonly kind: 'cancelled'; readonly why: string }
  /**
   * The attempt ended to be tried again later without a slot (A13). The dispatcher keeps the run (its parent hears nothing), asks for
   * a slot again after `resumeAfterMs` and starts it with the next attempt number and the same `resume`.
   */
  | { readonly kind: 'parked'; readonly resumeAfterMs: number; readonly error: RunError; readonly resume?: Json };

/**
 * What a span of a run is of.
 * - `list`: a listing of a source. - `read`: an item's content. - `step`: a verb of the Pipeline. - `card`: the wait for a share of a card
 *   and the time that it was held. - `call`: a request to something outside, or a physical batch of one. - `commit`: rows and records.
 */
export type RunSpanKind = 'list' | 'read' | 'step' | 'card' | 'call' | 'commit';

/** Begins the name of a call that went to a program of a step `exec`; hosts have no spaces. */
export const PROGRAM_CALL = 'program ';

/** A stretch of a run's time. */
export interface RunSpan {
  readonly kind: RunSpanKind;
  /** Verb of a step; host of a call, or PROGRAM_CALL and the name of the program that was called. */
  readonly name: string;
  /** Since the run's attempt began. */
  readonly startMs: number;
  readonly durationMs: number;
  /** Place in the list of the span that encloses it; absent: the run does. */
  readonly in?: number;
  /** Why it did not succeed. */
  readonly failure?: RunError['class'] | 'cancelled';
  /** How many it was of: elements of a step, items of a listing, parts of a batch, thousandths of a card. */
  readonly count?: number;
  /** What it was of, such as the commit that was listed. Never content, never a secret. */
  readonly detail?: string;
}

/** Where the time of one attempt of a run went, for its update's trace. Sent for chosen runs only (`runner/execute/trace.ts`). */
export interface RunTrace {
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly spans: readonly RunSpan[];
}

/** Spans of one run at most; what comes beyond is not told apart. */
export const RUN_SPANS_MAX = 64;

/** Upper bounds of the buckets in which commits are counted by their components; a last bucket takes the rest. */
export const COMMIT_BOUNDS = [1, 3, 10, 30, 100, 300, 1000, 3000] as const;

/** What a runner counted since it said so last. */
export interface RunnerStats {
  /** Transactions by their components, a count for each bucket of COMMIT_BOUNDS and one beyond. */
  readonly commits: readonly number[];
  /** Components in all of them. */
  readonly committed: number;
  /** Tries inside of runs that failed and were made again, by class. */
  readonly retries: { readonly [failure in RunError['class']]?: number };
  /** Requests to something outside, by how they ended: `ok`, or the class of the failure. */
  readonly calls: { readonly [result in 'ok' | 'cancelled' | RunError['class']]?: number };
}

/** Items of a live source that the state holds. */
export interface HeldItems {
  readonly source: string;
  /** All that it knows of; those whose last run failed, and those that are quarantined, are among them. */
  readonly total: number;
  readonly failed: number;
  readonly quarantined: number;
}

/** What the state of a Pipeline holds, as a runner counted it. */
export interface Census {
  /** By the store's clock: of two the later one counts. */
  readonly atMs: number;
  /** Of other sources it holds nothing. */
  readonly sources: readonly HeldItems[];
}

/** Deletes that wait for consent: `missing` of `known` items are not in the source any more. */
export interface HeldDeletes {
  readonly missing: number;
  readonly known: number;
}

/** How an update ended, for people. */
export type UpdateResult = 'Succeeded' | 'CompletedWithErrors' | 'Failed' | 'Cancelled';

/** The result of an update whose root run ended so. */
export function updateResult(outcome: RunOutcome): UpdateResult {
  if (outcome.kind === 'done') {
    return outcome.counts.failed > 0 || outcome.heldDeletes !== undefined ? 'CompletedWithErrors' : 'Succeeded';
  }
  if (outcome.kind === 'superseded') return 'Succeeded';
  return outcome.kind === 'cancelled' ? 'Cancelled' : 'Failed';
}

/** Change that a watcher saw: the key's newest state is to be processed in a per-key update. */
export interface SourceChange {
  /** Empty for a `rescan`; no item has an empty key. */
  readonly key: string;
  /**
   * `changed`: appeared or has new content. `removed`: gone. `unknown`: look and see.
   * `rescan`: the watcher cannot say which keys changed (an overflow, a dropped connection, other ignore rules): a full cycle is due.
   */
  readonly kind: 'changed' | 'removed' | 'unknown' | 'rescan';
  /** When the watcher saw it, milliseconds of the epoch; the start of the freshness measure. */
  readonly seenAtMs: number;
  /** What the change is part of, such as a commit. */
  readonly revision?: string;
  /** W3C trace context of whoever made it, where it came with one (a webhook). */
  readonly traceparent?: string;
}

export const NO_COUNTS: Counts = { unchanged: 0, added: 0, reprocessed: 0, deleted: 0, failed: 0, superseded: 0 };

/** Sum of two counts. */
export function addCounts(a: Counts, b: Counts): Counts {
  return {
    unchanged: a.unchanged + b.unchanged,
    added: a.added + b.added,
    reprocessed: a.reprocessed + b.reprocessed,
    deleted: a.deleted + b.deleted,
    failed: a.failed + b.failed,
    superseded: a.superseded + b.superseded,
  };
}
