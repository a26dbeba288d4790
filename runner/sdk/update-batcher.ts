// Batches that hold a card: calls of one update gather by themselves.
//   Each batch asks for its share on behalf of one update, so that a small update's batch is served by the same fair rule as its runs, and never
//   waits in a queue of the runner behind the batches of a large one.
import { type BatchBody, Batcher, type BatchOptions, BatchQueue } from './batch.ts';

/** A function that takes a list, called with one item or a few at a time. */
export type BatchedCalls<Item, Result, Context> = Pick<Batcher<Item, Result, Context>, 'call' | 'callEach'>;

type Bounds<Item> = Omit<BatchOptions<Item>, 'queue'>;

/** Batches that hold a card gather by update; others share a queue in which at most `maxInFlight` run. */
export function batchedCalls<Item, Result, Context extends { readonly update: string }>(
  body: BatchBody<Item, Result, Context>,
  { gpu, maxInFlight, ...bounds }: Bounds<Item> & { readonly gpu: boolean; readonly maxInFlight?: number | undefined },
): BatchedCalls<Item, Result, Context> {
  if (gpu) return new UpdateBatcher(body, bounds);
  return new Batcher(body, { ...bounds, queue: new BatchQueue(maxInFlight) });
}

class UpdateBatcher<Item, Result, Context extends { readonly update: string }>
  implements BatchedCalls<Item, Result, Context>
{
  readonly #body: BatchBody<Item, Result, Context>;
  readonly #bounds: Bounds<Item>;
  /** Of updates with open calls, and how many those are. */
  readonly #open = new Map<string, { readonly batcher: Batcher<Item, Result, Context>; calls: number }>();

  constructor(body: BatchBody<Item, Result, Context>, bounds: Bounds<Item>) {
    this.#body = body;
    this.#bounds = bounds;
  }

  call(...[item, options]: Parameters<BatchedCalls<Item, Result, Context>['call']>): Promise<Result> {
    const [result] = this.callEach([item], options);
    return result!;
  }

  callEach(
    ...[items, options]: Parameters<BatchedCalls<Item, Result, Context>['callEach']>
  ): readonly Promise<Result>[] {
    const { update } = options.context;
    const entry = this.#open.get(update) ?? { batcher: this.#opened(), calls: 0 };
    this.#open.set(update, entry);
    entry.calls += items.length;
    const ended = () => {
      if (--entry.calls === 0) this.#open.delete(update);
    };
    const results = entry.batcher.callEach(items, options);
    for (const result of results) result.then(ended, ended);
    return results;
  }

  #opened(): Batcher<Item, Result, Context> {
    return new Batcher(this.#body, { ...this.#bounds, queue: new BatchQueue() });
  }
}
