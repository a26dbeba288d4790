// Functions of user modules that remember, gather, spread or pace their calls.
import { ambientRun, enterRun, type RunHost } from './ambient.ts';
import type { BatchBody, BatchWeight } from './batch.ts';
import { StepError } from './errors.ts';
import { RateLimiter } from './rate.ts';
import { batchedCalls } from './update-batcher.ts';

export interface MemoOptions<Args extends readonly unknown[]> {
  /** Names the function among all memoised functions of the Pipeline. */
  readonly name: string;
  /**
   * What identifies its code: a new value computes everything anew, an edit of the module without one nothing. Absent: the content of the module
   * and of the files that it imports, so that every edit computes anew.
   */
  readonly version?: string;
  /** What of the arguments decides the result, as plain data (JSON values, typed arrays, Dates). Default: all of them, which must be such. */
  readonly key?: (...args: Args) => unknown;
}

/**
 * A function whose results are kept in the Pipeline's state, shared by all its runs. Results are plain data (JSON values, typed arrays, Dates,
 * Maps, Sets). Failures are not kept. Calls with one key at the same time in one run compute once. It cannot mount or declare rows.
 */
export function memo<Args extends readonly unknown[], Result>(
  body: (...args: Args) => Result | Promise<Result>,
  { name, version, key }: MemoOptions<Args>,
): (...args: Args) => Promise<Result> {
  if (name === '') throw new StepError('invalid', 'a memoised function needs a name');
  return async (...args) => {
    const { host } = ambientRun(`the memoised function "${name}"`);
    const compute = async (): Promise<Result> => enterRun(host, 'a memoised function', () => body(...args));
    const input = key === undefined ? args : key(...args);
    return (await host.memoised({ name, version }, input, compute)) as Result;
  };
}

export interface BatchedOptions<Item> {
  /** Items of a batch at most; default 64. */
  readonly maxSize?: number;
  readonly maxTokens?: number;
  readonly maxBytes?: number;
  /** Weight of an item, for the two bounds above. */
  readonly weigh?: (item: Item) => BatchWeight;
  /** Batches that run at the same time at most; default: no bound. */
  readonly maxInFlight?: number;
  /**
   * Each batch holds the step's share of a card (`gpu`) while it runs; see `currentGpus`. Calls of one update then gather by themselves, and cards
   * bound how many batches run. Default false.
   */
  readonly gpu?: boolean;
}

/**
 * A function that takes a list, called with one item at a time; calls of all runs of this runner gather. An idle function runs its first call at
 * once; while a batch runs, calls gather for the next. `RetryWithSmallerBatch` halves the batch.
 */
export function batched<Item, Result>(
  body: (items: readonly Item[], call: { readonly signal: AbortSignal }) => Promise<readonly Result[]>,
  { maxInFlight, gpu = false, ...bounds }: BatchedOptions<Item> = {},
): (item: Item) => Promise<Result> {
  const enter: BatchBody<Item, Result, RunHost> = (items, { context, signal }) =>
    enterRun(context, 'a batched function', () => body(items, { signal }));
  const batcher = batchedCalls(gpu ? onCard(enter) : enter, { ...bounds, gpu, maxInFlight });
  return async (item) => {
    const { host } = ambientRun('a batched function');
    return batcher.call(item, { context: host, signal: host.signal });
  };
}

/** The body, while the share of the run that asked first is held. */
function onCard<Item, Result>(body: BatchBody<Item, Result, RunHost>): BatchBody<Item, Result, RunHost> {
  return (items, call) => call.context.withCard(() => body(items, call), call.signal);
}

/**
 * Calls a function for each item, all at once and inside the run: no slot is asked for. Results come in the items' order; every call ends, then
 * the first failure in the items' order is thrown.
 */
export async function map<Item, Result>(
  items: Iterable<Item>,
  body: (item: Item, index: number) => Result | Promise<Result>,
): Promise<Result[]> {
  const calls = [...items].map(async (item, index) => body(item, index));
  return valuesOf(await Promise.allSettled(calls));
}

/** The values, or the first failure in order. */
export function valuesOf<Value>(results: readonly PromiseSettledResult<Value>[]): Value[] {
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

export interface RateOptions {
  /** How much may be saved up, in seconds; 0 spaces single calls evenly. Default 1. */
  readonly windowSeconds?: number;
}

/** A rate that all calls of this runner keep to, first come first served. Each runner keeps its own. */
export function rateLimit(
  perSecond: number,
  { windowSeconds = 1 }: RateOptions = {},
): (tokens?: number) => Promise<void> {
  if (!(perSecond > 0 && Number.isFinite(perSecond))) throw new RangeError('the rate must be above 0');
  let limiter: RateLimiter | undefined;
  return async (tokens = 1) => {
    const { host } = ambientRun('a rate limit');
    limiter ??= new RateLimiter(perSecond, host.clock, windowSeconds);
    await limiter.acquire(tokens, host.signal);
  };
}
