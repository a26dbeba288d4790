// Batching: a function that takes a list, called with one item at a time.
// Owns:   gathering, the bounds of a batch, splitting on request, who gets which result or error.
// Leaves: what a batch does (the body), cards and connections (its caller), retrying (the engine).
//   B1. While nothing is in progress a call runs at once, as a batch of its own.
//   B2. While a batch is in progress calls gather. A batch leaves when it is full, even while another runs, or when
//       nothing is in progress; then the oldest group leaves first. There is no time window.
//   B3. Calls gather by function and group; functions of one queue share "in progress".
//   B4. A batch holds at most `maxSize` items and their weights stay below `maxTokens` and `maxBytes`; an item that is
//       heavier than a bound goes alone.
//   B5. As many results as items, or every caller of the batch fails.
//   B6. RetryWithSmallerBatch halves the batch and runs both halves, down to single items: at most 2n - 1 attempts for
//       n items. A single item fails with the cause. Other errors fail their half, or the whole batch if it was not split.
//   B7. A cancelled call settles at once. A batch whose callers all cancelled is dropped, or its signal aborts.
import { RetryWithSmallerBatch, StepError } from './errors.ts';

export interface BatchWeight {
  readonly tokens: number;
  readonly bytes: number;
}

export interface BatchOptions<Item> {
  /** Items of a batch at most, now; default 64. A function is asked at each call. */
  readonly maxSize?: number | (() => number);
  readonly maxTokens?: number;
  readonly maxBytes?: number;
  /** Weight of an item, for the two bounds above. */
  readonly weigh?: (item: Item) => BatchWeight;
  /** Functions that share a queue share "in progress"; default: a queue of its own. */
  readonly queue?: BatchQueue;
}

/** What the body of a batch gets beside its items. */
export interface BatchCall<Context> {
  /** What the oldest caller of the batch passed along. */
  readonly context: Context;
  /** What all callers of the batch passed along, in order, each once. */
  readonly contexts: () => readonly Context[];
  /** Aborts when no caller waits for the batch any more. */
  readonly signal: AbortSignal;
}

export type BatchBody<Item, Result, Context> = (
  items: readonly Item[],
  call: BatchCall<Context>,
) => Promise<readonly Result[]>;

export interface CallOptions<Context> {
  readonly context: Context;
  /** Calls of different groups never share a batch, such as calls with other extra arguments. */
  readonly group?: string;
  readonly signal?: AbortSignal;
}

interface Entry<Item, Result, Context> {
  readonly item: Item;
  readonly weight: BatchWeight;
  readonly context: Context;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  settled: boolean;
  /** Told when the caller cancels. */
  cancelled: () => void;
}

const WEIGHTLESS: BatchWeight = { tokens: 0, bytes: 0 };

/** Full batches that wait for a place, groups that gather, and how many batches run. */
export class BatchQueue {
  readonly #maxInFlight: number;
  readonly #gathering = new Set<Gathering>();
  readonly #leaving: (() => Promise<void>)[] = [];
  #inProgress = 0;

  /** `maxInFlight`: batches that run at the same time at most; default: no bound. */
  constructor(maxInFlight = Number.POSITIVE_INFINITY) {
    if (!(maxInFlight >= 1)) throw new RangeError('maxInFlight must be at least 1');
    this.#maxInFlight = maxInFlight;
  }

  gather(group: Gathering): void {
    this.#gathering.add(group);
  }

  forget(group: Gathering): void {
    this.#gathering.delete(group);
  }

  /** A batch is to run as soon as there is a place. */
  leave(execute: () => Promise<void>): void {
    this.#leaving.push(execute);
    this.pump();
  }

  /** Starts what may start. */
  pump(): void {
    while (this.#inProgress < this.#maxInFlight) {
      const next = this.#leaving.shift();
      if (next !== undefined) this.#start(next);
      else if (this.#inProgress > 0 || !this.#releaseOldest()) return;
    }
  }

  #releaseOldest(): boolean {
    for (const group of this.#gathering) {
      this.#gathering.delete(group);
      this.#leaving.push(group.release());
      return true;
    }
    return false;
  }

  #start(execute: () => Promise<void>): void {
    this.#inProgress++;
    const ended = () => {
      this.#inProgress--;
      this.pump();
    };
    execute().then(ended, ended);
  }
}

/** A group that gathers; releasing it gives its batch. */
interface Gathering {
  release(): () => Promise<void>;
}

/** A batched function. */
export class Batcher<Item, Result, Context = undefined> {
  readonly #body: BatchBody<Item, Result, Context>;
  readonly #queue: BatchQueue;
  readonly #maxSize: () => number;
  readonly #maxTokens: number;
  readonly #maxBytes: number;
  readonly #weigh: (item: Item) => BatchWeight;
  readonly #groups = new Map<string, Group<Item, Result, Context>>();

  constructor(body: BatchBody<Item, Result, Context>, options: BatchOptions<Item> = {}) {
    this.#body = body;
    this.#queue = options.queue ?? new BatchQueue();
    const { maxSize = 64 } = options;
    this.#maxSize = typeof maxSize === 'number' ? () => maxSize : maxSize;
    this.#maxTokens = options.maxTokens ?? Number.POSITIVE_INFINITY;
    this.#maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
    this.#weigh = options.weigh ?? (() => WEIGHTLESS);
    if (!(this.#maxSize() >= 1)) throw new RangeError('maxSize must be at least 1');
  }

  /** Calls the function for one item. On abort the promise rejects with the signal's reason. */
  call(item: Item, options: CallOptions<Context>): Promise<Result> {
    const [result] = this.callEach([item], options);
    return result!;
  }

  /** Calls the function for several items that come together, so that they may share the first batch. */
  callEach(items: readonly Item[], options: CallOptions<Context>): readonly Promise<Result>[] {
    const results = items.map((item) => this.#add(item, options));
    this.#queue.pump();
    return results;
  }

  #add(item: Item, options: CallOptions<Context>): Promise<Result> {
    const { signal, context, group = '' } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const entry = settling<Item, Result, Context>(
        { item, weight: this.#weigh(item), context, resolve, reject },
        signal,
      );
      this.#gather(entry, group);
    });
  }

  #gather(entry: Entry<Item, Result, Context>, key: string): void {
    const known = this.#groups.get(key);
    if (known !== undefined && !this.#fits(known, entry)) this.#leave(known);
    const group = this.#groups.get(key) ?? this.#openGroup(key);
    group.add(entry);
    entry.cancelled = () => {
      if (group.remove(entry)) this.#closeGroup(group);
    };
    if (group.size >= this.#maxSize()) this.#leave(group);
  }

  #fits(group: Group<Item, Result, Context>, { weight }: Entry<Item, Result, Context>): boolean {
    return group.tokens + weight.tokens <= this.#maxTokens && group.bytes + weight.bytes <= this.#maxBytes;
  }

  #openGroup(key: string): Group<Item, Result, Context> {
    const group: Group<Item, Result, Context> = new Group(key, () => {
      this.#groups.delete(key);
      return () => this.#execute(group.entries);
    });
    this.#groups.set(key, group);
    this.#queue.gather(group);
    return group;
  }

  #closeGroup(group: Group<Item, Result, Context>): void {
    // One that left may have a successor under its key.
    if (this.#groups.get(group.key) === group) this.#groups.delete(group.key);
    this.#queue.forget(group);
  }

  #leave(group: Group<Item, Result, Context>): void {
    this.#queue.forget(group);
    this.#queue.leave(group.release());
  }

  async #execute(entries: readonly Entry<Item, Result, Context>[]): Promise<void> {
    const live = entries.filter((entry) => !entry.settled);
    const [oldest] = live;
    if (oldest === undefined) return;
    const abort = new AbortController();
    for (const entry of live) {
      entry.cancelled = () => {
        if (live.every((other) => other.settled)) abort.abort(new Error('every caller of the batch cancelled'));
      };
    }
    try {
      const items = live.map((entry) => entry.item);
      const contexts = () => [...new Set(live.map((entry) => entry.context))];
      settleAll(live, await this.#body(items, { context: oldest.context, contexts, signal: abort.signal }));
    } catch (error) {
      if (!(error instanceof RetryWithSmallerBatch)) for (const entry of live) entry.reject(error);
      else if (live.length === 1) oldest.reject(error.cause ?? error);
      else await this.#executeHalves(live);
    }
  }

  async #executeHalves(entries: readonly Entry<Item, Result, Context>[]): Promise<void> {
    const half = Math.ceil(entries.length / 2);
    await Promise.all([this.#execute(entries.slice(0, half)), this.#execute(entries.slice(half))]);
  }
}

/** Calls that gather for one batch. */
class Group<Item, Result, Context> implements Gathering {
  readonly key: string;
  readonly release: () => () => Promise<void>;
  readonly entries: Entry<Item, Result, Context>[] = [];
  tokens = 0;
  bytes = 0;

  constructor(key: string, release: () => () => Promise<void>) {
    this.key = key;
    this.release = release;
  }

  get size(): number {
    return this.entries.length;
  }

  add(entry: Entry<Item, Result, Context>): void {
    this.entries.push(entry);
    this.#count(entry, 1);
  }

  /** Whether the group is empty now. */
  remove(entry: Entry<Item, Result, Context>): boolean {
    const at = this.entries.indexOf(entry);
    if (at < 0) return false;
    this.entries.splice(at, 1);
    this.#count(entry, -1);
    return this.entries.length === 0;
  }

  #count({ weight }: Entry<Item, Result, Context>, sign: 1 | -1): void {
    this.tokens += sign * weight.tokens;
    this.bytes += sign * weight.bytes;
  }
}

function settleAll<Item, Result, Context>(
  entries: readonly Entry<Item, Result, Context>[],
  results: readonly Result[],
): void {
  if (results.length === entries.length) {
    entries.forEach((entry, i) => {
      entry.resolve(results[i]!);
    });
    return;
  }
  const message = `a batch of ${entries.length} items came back with ${results.length} results`;
  for (const entry of entries) entry.reject(new StepError('internal', message));
}

/** An entry that settles once: by result, by error, or by its caller's abort. */
function settling<Item, Result, Context>(
  call: Omit<Entry<Item, Result, Context>, 'settled' | 'cancelled'>,
  signal: AbortSignal | undefined,
): Entry<Item, Result, Context> {
  const settle = (act: () => void) => {
    if (entry.settled) return;
    entry.settled = true;
    signal?.removeEventListener('abort', abort);
    act();
  };
  const abort = () => {
    settle(() => call.reject(signal?.reason));
    entry.cancelled();
  };
  const entry: Entry<Item, Result, Context> = {
    ...call,
    resolve: (result) => settle(() => call.resolve(result)),
    reject: (error) => settle(() => call.reject(error)),
    settled: false,
    cancelled: () => undefined,
  };
  signal?.addEventListener('abort', abort, { once: true });
  return entry;
}
