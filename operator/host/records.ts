// What is remembered of the updates of one source, or of the Pipeline's own: the last ones, item counts, freshness, failures.
//   H2. An update that found nothing to do leaves no record: idle cycles change nothing that is written to the API server. A repair does, since
//       whoever asked for it looks for its end.
//   H3. Item counts are what the state holds, as runners count it there, less what open updates still have to do; after a change of
//       operators they start from the status, until a runner reports.
import { type Counts, type HeldItems, parseTraceparent, type RunError } from '../../runner/protocol/index.ts';
import type { UpdateEnding, UpdateView } from '../dispatch/index.ts';

export interface UpdateRecord {
  readonly name: string;
  readonly kind: 'pipeline' | 'cycle' | 'key' | 'drop';
  readonly source?: string;
  readonly trigger: string;
  readonly result: 'Running' | 'Succeeded' | 'CompletedWithErrors' | 'Failed' | 'Cancelled';
  readonly startedAtMs: number;
  readonly endedAtMs?: number;
  /** From its request to the start of its root run. */
  readonly waitedMs?: number;
  readonly counts: Counts;
  readonly traceId?: string;
  readonly message?: string;
}

export interface ItemCounts {
  readonly total: number;
  readonly done: number;
  readonly pending: number;
  readonly failed: number;
  readonly quarantined: number;
}

/** Why the last cycle did not show the whole source. */
export interface SourceTrouble {
  readonly reason:
    | 'DeleteGuard'
    | 'ListingFailed'
    | 'SourceUnreachable'
    | 'SourceRefused'
    | 'StateUnreachable'
    | 'UpdateFailed';
  readonly message: string;
}

/** What an earlier operator wrote into the status. */
export interface Past {
  readonly items?: Partial<ItemCounts>;
  readonly updates?: readonly UpdateRecord[];
  readonly lastCycleAtMs?: number;
  readonly checkedAtMs?: number;
  readonly failures?: { readonly count: number; readonly lastAtMs: number };
}

/** An update that has just ended. */
export interface EndedUpdate {
  readonly record: UpdateRecord;
  /** The update before it, of the same source, did not succeed. */
  readonly wasFailing: boolean;
  /** Something changed that people look at. */
  readonly isSeen: boolean;
}

const RECORDS_MAX = 10;
/** A running update shows once it has something to do, or has run this long: an idle cycle ends sooner. */
export const SHOWN_AFTER_MS = 5_000;

export const NO_ITEMS: ItemCounts = { total: 0, done: 0, pending: 0, failed: 0, quarantined: 0 };

export class Records {
  #ended: UpdateRecord[] = [];
  readonly #open = new Map<string, UpdateView>();
  #held: Omit<HeldItems, 'source'> = NO_ITEMS;
  #failedSinceMs: number | undefined;
  lastCycleAtMs: number | undefined;
  checkedAtMs: number | undefined;
  trouble: SourceTrouble | undefined;
  failures: { readonly count: number; readonly lastAtMs: number } | undefined;

  /** Goes on from what an earlier operator wrote (H3). */
  restore(from: Past): void {
    this.#held = { ...NO_ITEMS, ...from.items };
    this.#ended = (from.updates ?? []).filter(({ result }) => result !== 'Running');
    this.lastCycleAtMs = from.lastCycleAtMs;
    this.checkedAtMs = from.checkedAtMs;
    this.failures = from.failures;
  }

  opened(update: UpdateView): void {
    this.#open.set(update.name, update);
  }

  ended(update: UpdateView, ending: UpdateEnding, nowMs: number): EndedUpdate {
    const wasShown = this.#isShown(update, nowMs);
    const wasFailing = this.failures !== undefined;
    this.#open.delete(update.name);
    const before = this.#essence();
    if (update.kind === 'cycle') this.#cycleEnded(update, ending, nowMs);
    this.#noteFailures(ending, nowMs);
    const isIdle = ending.result === 'Succeeded' && worked(ending.counts) === 0 && update.trigger !== 'repair'; // H2
    const ended = record(update, ending, nowMs);
    if (!isIdle) this.#ended = [ended, ...this.#ended].slice(0, RECORDS_MAX);
    const isSeen = wasShown || !isIdle || before !== this.#essence();
    return { record: ended, wasFailing, isSeen };
  }

  /** Newest first. `all`: with those that have only begun and may find nothing to do, which a status leaves out (H2). */
  updates(nowMs: number, which: 'shown' | 'all' = 'shown'): UpdateRecord[] {
    const open = [...this.#open.values()];
    const running = which === 'all' ? open : open.filter((update) => this.#isShown(update, nowMs));
    return [...running.reverse().map((update) => record(update, undefined, nowMs)), ...this.#ended].slice(
      0,
      RECORDS_MAX,
    );
  }

  /** What the state holds; undefined: nothing (H3). Answers whether that is news. */
  counted(held: HeldItems | undefined): boolean {
    const { total, failed, quarantined } = held ?? NO_ITEMS;
    const before = this.#held;
    this.#held = { total, failed, quarantined };
    return before.total !== total || before.failed !== failed || before.quarantined !== quarantined;
  }

  get items(): ItemCounts {
    const { total: known, failed, quarantined } = this.#held;
    let pending = 0;
    let total = known;
    for (const { progress } of this.#open.values()) {
      pending += Math.max(0, progress.total - progress.done);
      total = Math.max(total, progress.total); // of a first cycle the state knows only what is done
    }
    total = Math.max(total, pending);
    return { total, done: Math.max(0, total - pending - failed - quarantined), pending, failed, quarantined };
  }

  /** Time of the oldest change that the targets do not show. */
  get oldestChangeAtMs(): number | undefined {
    const times = [...this.#open.values()].flatMap(({ kind, progress, requestedAtMs }) =>
      kind === 'key' || progress.total > progress.done ? [requestedAtMs] : [],
    );
    if (this.#failedSinceMs !== undefined) times.push(this.#failedSinceMs);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  get isWorking(): boolean {
    return this.#open.size > 0;
  }

  #isShown({ requestedAtMs, progress }: UpdateView, nowMs: number): boolean {
    return progress.total > 0 || worked(progress.counts) > 0 || nowMs - requestedAtMs >= SHOWN_AFTER_MS;
  }

  /** What people look at beside counts; that a first cycle ended is news whatever it found. */
  #essence(): string {
    return JSON.stringify([this.trouble, this.failures, this.lastCycleAtMs === undefined]);
  }

  #cycleEnded(update: UpdateView, { counts, outcome, result }: UpdateEnding, nowMs: number): void {
    this.trouble = troubleOf(outcome);
    if (result === 'Succeeded' || result === 'CompletedWithErrors') {
      this.#failedSinceMs = counts.failed === 0 ? undefined : (this.#failedSinceMs ?? update.requestedAtMs);
      this.lastCycleAtMs = update.requestedAtMs;
      this.checkedAtMs = nowMs;
    }
  }

  #noteFailures({ result }: UpdateEnding, nowMs: number): void {
    if (result === 'Succeeded') this.failures = undefined;
    else if (result !== 'Cancelled') this.failures = { count: (this.failures?.count ?? 0) + 1, lastAtMs: nowMs };
  }
}

const worked = ({ added, reprocessed, deleted, failed }: Counts): number => added + reprocessed + deleted + failed;

function record(update: UpdateView, ending: UpdateEnding | undefined, nowMs: number): UpdateRecord {
  const message = ending === undefined ? undefined : messageOf(ending);
  const traceId = parseTraceparent(update.traceparent)?.traceId;
  return {
    name: update.name,
    kind: update.kind,
    ...(update.start.source !== undefined && { source: update.start.source }),
    trigger: update.trigger,
    result: ending?.result ?? 'Running',
    startedAtMs: update.startedAtMs ?? update.requestedAtMs,
    ...(ending !== undefined && { endedAtMs: nowMs }),
    ...(update.startedAtMs !== undefined && { waitedMs: update.startedAtMs - update.requestedAtMs }),
    counts: ending?.counts ?? update.progress.counts,
    ...(traceId !== undefined && { traceId }),
    ...(message !== undefined && { message }),
  };
}

function messageOf({ outcome }: UpdateEnding): string | undefined {
  if (outcome.kind === 'failed') return outcome.error.message;
  return outcome.kind === 'cancelled' ? outcome.why : troubleOf(outcome)?.message;
}

function troubleOf(outcome: UpdateEnding['outcome']): SourceTrouble | undefined {
  if (outcome.kind === 'failed') return failedBecause(outcome.error);
  if (outcome.kind !== 'done' || outcome.heldDeletes === undefined) return undefined;
  const { missing, known } = outcome.heldDeletes;
  const message =
    `${missing} of ${known} items are not in the source any more, more than deleteGuard allows; nothing was deleted. ` +
    'If that is right, set the annotation fairlead.dev/allow-deletes to any new value.';
  return { reason: 'DeleteGuard', message };
}

/** What a cycle does beside its listing (the step `list`) it does with the state store. */
function failedBecause({ class: kind, message, step }: RunError): SourceTrouble {
  const isTransient = kind === 'transient' || kind === 'timeout' || kind === 'rate-limited';
  if (step !== 'list') return { reason: isTransient ? 'StateUnreachable' : 'UpdateFailed', message };
  if (kind === 'invalid') return { reason: 'SourceRefused', message };
  return { reason: isTransient ? 'SourceUnreachable' : 'ListingFailed', message };
}
