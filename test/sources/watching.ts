// Follows a watch in tests: waits for what it says, never for time.
import type { Source } from '../../runner/execute/index.ts';
import type { SourceChange } from '../../runner/protocol/index.ts';

export class Watching {
  readonly #stop = new AbortController();
  readonly #iterator: AsyncIterator<readonly SourceChange[]>;
  /** Newest kind of each key that was told and not yet taken. */
  readonly told = new Map<string, SourceChange['kind']>();

  private constructor(source: Source) {
    if (source.watch === undefined) throw new Error('the source cannot watch');
    this.#iterator = source.watch(this.#stop.signal)[Symbol.asyncIterator]();
  }

  /** Starts a watch and waits until it is armed. */
  static async start(source: Source): Promise<Watching> {
    const watching = new Watching(source);
    const first = await watching.#iterator.next();
    if (first.value?.length !== 0)
      throw new Error(`the first batch is to be empty and was ${JSON.stringify(first.value)}`);
    return watching;
  }

  /** Waits until each of these was told with this kind, and forgets everything told so far. */
  async until(wanted: Readonly<Record<string, SourceChange['kind']>>): Promise<Map<string, SourceChange['kind']>> {
    while (!Object.entries(wanted).every(([key, kind]) => this.told.get(key) === kind)) await this.next();
    const told = new Map(this.told);
    this.told.clear();
    return told;
  }

  async next(): Promise<readonly SourceChange[]> {
    const { value, done } = await this.#iterator.next();
    if (done === true) throw new Error('the watch ended');
    for (const change of value) this.told.set(change.key, change.kind);
    return value;
  }

  /** Stops it; the watch must end with the reason of its signal. */
  async stop(): Promise<void> {
    const rest = this.#iterator.next();
    this.#stop.abort(new Error('stopped by the test'));
    for (let wait = rest; ; wait = this.#iterator.next()) {
      try {
        if ((await wait).done === true) throw new Error('the watch ended without a word');
      } catch (error) {
        if (error instanceof Error && error.message === 'stopped by the test') return;
        throw error;
      }
    }
  }
}
