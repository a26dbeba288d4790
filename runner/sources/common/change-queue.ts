// Changes on their way to a reader that may be slower than the watcher: the newest of each key is kept.
import type { SourceChange } from '../../protocol/index.ts';

/** More keys than this are no longer worth naming: a full cycle is asked for instead, so that memory stays bounded. */
const KEYS_MAX = 50_000;
const BATCH_MAX = 1_000;

export class ChangeQueue {
  #waiting = new Map<string, SourceChange>();
  #isArmed = false;
  #ending: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** The watch is armed: the reader gets its first, empty batch. */
  arm(): void {
    this.#isArmed = true;
    this.#wake?.();
  }

  /** Adds changes; of a key that still waits, the newer kind holds and the older time, since that is how long it has waited. */
  add(changes: readonly SourceChange[]): void {
    for (const change of changes) {
      const earlier = this.#waiting.get(change.key);
      this.#waiting.delete(change.key);
      this.#waiting.set(change.key, earlier === undefined ? change : { ...change, seenAtMs: earlier.seenAtMs });
    }
    if (this.#waiting.size > KEYS_MAX) this.#collapse();
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#ending ??= { error };
    this.#wake?.();
  }

  /** Batches until the signal aborts, which rejects with its reason, or the watch failed. */
  async *read(signal: AbortSignal): AsyncGenerator<readonly SourceChange[], never, undefined> {
    const wake = () => this.#wake?.();
    signal.addEventListener('abort', wake);
    try {
      for (let isFirst = true; ; ) {
        signal.throwIfAborted();
        if (isFirst && this.#isArmed) {
          isFirst = false;
          yield [];
        } else if (!isFirst && this.#waiting.size > 0) yield this.#take();
        else if (this.#ending !== undefined) throw this.#ending.error;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  #take(): readonly SourceChange[] {
    const batch = [...this.#waiting.values()].slice(0, BATCH_MAX);
    for (const { key } of batch) this.#waiting.delete(key);
    return batch;
  }

  #collapse(): void {
    const [first] = this.#waiting.values();
    this.#waiting = new Map([['', { key: '', kind: 'rescan', seenAtMs: first?.seenAtMs ?? 0 }]]);
  }
}
