// A source whose library is loaded when it is first used, so that a program that has no such source does not pay for it.
import type { ItemContent, ListedItem, ListOptions, ReadOptions, Source } from '../../execute/index.ts';
import type { SourceChange } from '../../protocol/index.ts';

/** Wraps `load`, which is called once. Sources that can watch take LazyWatchedSource. */
export class LazySource implements Source {
  readonly #load: () => Promise<Source>;
  #loading: Promise<Source> | undefined;
  #loaded: Source | undefined;

  constructor(load: () => Promise<Source>) {
    this.#load = load;
  }

  async *list(options: ListOptions): AsyncGenerator<readonly ListedItem[]> {
    options.signal.throwIfAborted();
    yield* (await this.ready()).list(options);
  }

  async stat(key: string, signal: AbortSignal, notBeforeMs?: number): Promise<ListedItem | undefined> {
    signal.throwIfAborted();
    return await (await this.ready()).stat(key, signal, notBeforeMs);
  }

  async read(key: string, version: string, options: ReadOptions): Promise<ItemContent | undefined> {
    options.signal.throwIfAborted();
    return await (await this.ready()).read(key, version, options);
  }

  revision(): string | undefined {
    return this.#loaded?.revision?.();
  }

  takeNotes(): readonly string[] {
    return this.#loaded?.takeNotes?.() ?? [];
  }

  async close(): Promise<void> {
    await (await this.#loading)?.close();
  }

  protected async ready(): Promise<Source> {
    this.#loading ??= this.#load();
    this.#loaded = await this.#loading;
    return this.#loaded;
  }
}

export class LazyWatchedSource extends LazySource {
  async *watch(signal: AbortSignal): AsyncGenerator<readonly SourceChange[]> {
    signal.throwIfAborted();
    const watch = (await this.ready()).watch;
    if (watch === undefined) throw new Error('the source was said to watch and cannot');
    yield* watch.call(await this.ready(), signal);
  }
}
