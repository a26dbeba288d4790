// The source `push`: items that others send, signed. The wiring mounts `accept` on its web server; everything else is as with any source.
//   A1. A message is answered once all its items are kept; its items become changes in their order.
//   A2. The same message twice is taken once: what an earlier message said never overwrites what a later one did.
//   A3. The version is the hash of the content, so an item that is sent again unchanged costs nothing.
import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { ItemContent, ListedItem, ListOptions, ReadOptions, Source } from '../../execute/index.ts';
import { parseTraceparent, type SourceChange } from '../../protocol/index.ts';
import { StepError } from '../../sdk/index.ts';
import { ChangeQueue } from '../common/change-queue.ts';
import { messageOf } from '../common/failure.ts';
import { tooLarge } from '../common/too-large.ts';
import { checkSignature, itemsOf, type PushedItem, PushRefusal, type Signed } from './message.ts';
import type { KeptItem, PushStore } from './store.ts';

export interface PushSourceOptions {
  readonly store: PushStore;
  /** Key of the signatures, read anew for each message. */
  readonly secret: () => Promise<string>;
  readonly maxItemBytes: number;
  readonly toleranceMs: number;
  readonly clock: Clock;
}

export interface PushReply {
  readonly status: 202 | 400 | 401 | 413 | 503;
  readonly message: string;
  /** What the message changed, for a wiring whose watcher runs elsewhere. */
  readonly changes: readonly SourceChange[];
}

export class PushSource implements Source {
  readonly #options: PushSourceOptions;
  readonly #queues = new Set<ChangeQueue>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: PushSourceOptions) {
    this.#options = options;
  }

  /** Largest body that a message may have. */
  get maxBodyBytes(): number {
    return Math.max(16 << 20, 2 * this.#options.maxItemBytes);
  }

  /** Takes a message. Never rejects: the reply says what is wrong. */
  async accept(signed: Signed): Promise<PushReply> {
    try {
      const { secret, toleranceMs, clock, maxItemBytes } = this.#options;
      if (signed.body.length > this.maxBodyBytes)
        throw new PushRefusal(413, `the body has more than ${this.maxBodyBytes} bytes`);
      checkSignature(signed, await secret(), toleranceMs, clock.nowMs());
      const items = itemsOf(signed.body, maxItemBytes);
      return await this.#inTurn(() => this.#keepOnce(signed, items));
    } catch (error) {
      if (error instanceof PushRefusal) return { status: error.status, message: error.message, changes: [] };
      return { status: 503, message: `the items could not be kept: ${messageOf(error)}; send them again`, changes: [] };
    }
  }

  async *list({ signal }: ListOptions): AsyncGenerator<readonly ListedItem[]> {
    signal.throwIfAborted();
    for await (const page of this.#options.store.list()) {
      signal.throwIfAborted();
      yield page;
      signal.throwIfAborted();
    }
  }

  async stat(key: string, signal: AbortSignal): Promise<ListedItem | undefined> {
    signal.throwIfAborted();
    const item = await this.#options.store.get(key);
    return item && { key, version: item.version, sizeBytes: item.sizeBytes };
  }

  async read(key: string, _version: string, { signal, maxBytes }: ReadOptions): Promise<ItemContent | undefined> {
    signal.throwIfAborted();
    const item = await this.#options.store.get(key);
    if (item === undefined) return undefined;
    if (item.sizeBytes > maxBytes) throw tooLarge(key, item.sizeBytes, maxBytes);
    return { version: item.version, bytes: item.content };
  }

  watch(signal: AbortSignal): AsyncIterable<readonly SourceChange[]> {
    return this.#options.store.follow?.(signal) ?? this.#watchHere(signal);
  }

  async *#watchHere(signal: AbortSignal): AsyncGenerator<readonly SourceChange[]> {
    const queue = new ChangeQueue();
    this.#queues.add(queue);
    queue.arm();
    try {
      yield* queue.read(signal);
    } finally {
      this.#queues.delete(queue);
    }
  }

  async close(): Promise<void> {
    for (const queue of this.#queues) queue.fail(new StepError('transient', 'the source was closed'));
    await this.#last;
    await this.#options.store.close?.();
  }

  /** One message after the other, in the order of their arrival. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return await turn;
  }

  async #keepOnce(signed: Signed, given: readonly PushedItem[]): Promise<PushReply> {
    const { clock, toleranceMs, store } = this.#options;
    const nowMs = clock.nowMs();
    const identity = createHash('sha256').update(`${signed.time}.`).update(signed.body).digest('hex');
    const cause = parseTraceparent(signed.traceparent) === undefined ? {} : { traceparent: signed.traceparent ?? '' };
    const items = given.map(kept);
    const changes = items.map(
      ({ key, content }): SourceChange => ({
        key,
        kind: content === undefined ? 'removed' : 'changed',
        seenAtMs: nowMs,
        ...cause,
      }),
    );
    // A signature may lie ahead of our time by the tolerance, and behind it by the same.
    const isNew = await store.keep({ identity, untilMs: nowMs + 2 * toleranceMs, items, changes });
    if (!isNew) return { status: 202, message: 'this message was taken before', changes: [] };
    for (const queue of this.#queues) queue.add(changes);
    return { status: 202, message: `${items.length} items taken`, changes };
  }
}

function kept({ key, content }: PushedItem): KeptItem {
  if (content === undefined) return { key };
  const version = createHash('sha256').update(content).digest('hex');
  return { key, version, sizeBytes: content.length, content };
}
