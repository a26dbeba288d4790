// Batches that hold a card: calls of one update gather by themselves.
//   Each batch asks for its share on behalf of one update, so that a small update's batch is served by the same fair rule as its runs, and never
//   waits in a queue of the runner behind the batches of a large one.
import { type BatchBody, Batcher, type BatchOptions, BatchQueue, type CallOptions } from './batch.ts';

export class UpdateBatcher<Item, Result, Context extends { readonly update: string }> {
  readonly #body: BatchBody<Item, Result, Context>;
  readonly #bounds: Omit<BatchOptions<Item>, 'queue'>;
  /** Of updates with open calls, and how many those are. */
  readonly #open = new Map<string, { readonly batcher: Batcher<Item, Result, Context>; calls: number }>();

  constructor(body: BatchBody<Item, Result, Context>, bounds: Omit<BatchOptions<Item>, 'queue'> = {}) {
    this.#body = body;
    this.#bounds = bounds;
  }

  call(item: Item, options: CallOptions<Context>): Promise<Result> {
    const [result] = this.callEach([item], options);
    return result!;
  }

  callEach(items: readonly Item[], options: CallOptions<Context>): readonly Promise<Result>[] {
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
