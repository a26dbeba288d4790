// Where pushed items are kept: nobody can be asked for them again.
import type { ListedItem } from '../../execute/index.ts';
import type { SourceChange } from '../../protocol/index.ts';

export interface StoredItem extends ListedItem {
  readonly sizeBytes: number;
  readonly content: Buffer;
}

/** An item of a message; without content the item goes. */
export type KeptItem = StoredItem | { readonly key: string; readonly content?: undefined };

export interface KeptMessage {
  /** Of time and body: of two equal ones the second is not kept. */
  readonly identity: string;
  /** Until when it may come again. */
  readonly untilMs: number;
  /** In the order of the message; of two with one key the later one counts. */
  readonly items: readonly KeptItem[];
  /** What it changes, item by item. */
  readonly changes: readonly SourceChange[];
}

/** Keeps the items of one source. */
export interface PushStore {
  /** Durable once it resolves, all of it; false: it was kept before, and nothing has changed. */
  keep(message: KeptMessage): Promise<boolean>;
  get(key: string): Promise<StoredItem | undefined>;
  /** Pages of what is there. */
  list(): AsyncIterable<readonly ListedItem[]>;
  /**
   * Changes that messages made, whichever process took them, until the signal aborts; the first batch, an empty one, comes once none can be
   * missed. Absent: all messages are taken by this process.
   */
  follow?(signal: AbortSignal): AsyncIterable<readonly SourceChange[]>;
  close?(): Promise<void>;
}
