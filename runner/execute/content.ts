// Reads the content of a run's item, once: every caller of the run gets the same bytes.
import { type Item, StepError } from '../sdk/index.ts';
import type { Attempts } from './attempts.ts';
import { RunFailure } from './failure.ts';
import type { ItemContent, Source } from './ports.ts';
import { DEFAULT_RETRY } from './retry.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { timed } from './timed.ts';

export class Content {
  readonly #run: Run;
  readonly #source: Source;
  readonly #attempts: Attempts;
  readonly #item: Item;
  #reading: Promise<ItemContent | undefined> | undefined;

  constructor(run: Run, source: Source, attempts: Attempts, item: Item) {
    this.#run = run;
    this.#source = source;
    this.#attempts = attempts;
    this.#item = item;
  }

  /** Undefined: the item is gone. */
  read(maxBytes: number): Promise<ItemContent | undefined> {
    this.#reading ??= this.#attempts.try('read', 'read', DEFAULT_RETRY, () => this.#readOnce(maxBytes));
    return this.#reading;
  }

  /** The content for a step; the item must be there and within the step's own bound. */
  async need(maxBytes: number): Promise<ItemContent> {
    const content = await this.read(maxBytes).catch(asStepError);
    if (content === undefined) {
      throw new RunFailure({
        class: 'transient',
        message: `${this.#item.key} went away while it was being processed`,
      });
    }
    if (content.bytes.byteLength > maxBytes) {
      throw new StepError(
        'too-large',
        `${this.#item.key} is too large: ${content.bytes.byteLength} bytes, at most ${maxBytes} are read`,
      );
    }
    return content;
  }

  #readOnce(maxBytes: number): Promise<ItemContent | undefined> {
    const { cancellation } = this.#run;
    const { key, version } = this.#item;
    const read = (): Promise<ItemContent | undefined> =>
      cancellation.race(this.#source.read(key, version, { signal: cancellation.signal, maxBytes }));
    return timed(this.#run.times, 'read', 'read', read);
  }
}

/** Steps know `too-large` as a class of StepError, whichever of source and run found it out: some skip such items. */
function asStepError(thrown: unknown): never {
  if (thrown instanceof RunFailure && thrown.error.class === 'too-large') {
    throw new StepError('too-large', thrown.error.message, { cause: thrown });
  }
  throw thrown;
}

/** The source that a run's item belongs to. */
export function sourceOf(services: Services, name: string | undefined): Source {
  const plan = name === undefined ? undefined : services.sources.get(name);
  if (plan === undefined) {
    throw new RunFailure({
      class: 'invalid',
      message: `this runner knows no live source "${name ?? ''}"; it may have been removed a moment ago`,
    });
  }
  return plan.source;
}
