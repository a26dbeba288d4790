// One listing inside the helper thread: walks in slices, so that file events are still served in between, and sends a batch
// for each that was asked for.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ListedItem } from '../../execute/index.ts';
import { NoteBook } from '../common/notes.ts';
import type { Columns } from './messages.ts';
import type { Tree } from './tree.ts';
import { Walk } from './walk.ts';

/** Bound of the port: no batch is larger. */
export const BATCH_MAX = 1_000;
/** A slice of walking between two turns of the event loop. */
const SLICE_MS = 4;
/** A batch that is not full is sent after this long, so that a slow disk shows its first items soon. */
const BATCH_AGE_MS = 50;
/** Reading the clock costs as much as a few entries. */
const STEPS_PER_LOOK = 32;

export interface ListPort {
  /** Resolves when the next batch is wanted; rejects when the listing was stopped. */
  wanted(): Promise<void>;
  batch(columns: Columns): void;
  notes(notes: readonly string[]): void;
  isStopped(): boolean;
}

class Batch {
  readonly keys: string[] = [];
  readonly versions: string[] = [];
  readonly sizes: number[] = [];
  readonly startedMs = performance.now();

  add(item: ListedItem): void {
    this.keys.push(item.key);
    this.versions.push(item.version);
    this.sizes.push(item.sizeBytes ?? 0);
  }

  isDue(): boolean {
    return this.keys.length > 0 && performance.now() - this.startedMs >= BATCH_AGE_MS;
  }
}

/** Lists a tree into `port`. Throws what made the listing unclean, after everything that could be listed was sent (F1). */
export async function listTree(tree: Tree, port: ListPort): Promise<void> {
  const notes = new NoteBook();
  const walk = new Walk(tree, { note: (text) => notes.add(text) });
  let batch = new Batch();
  const send = async () => {
    await port.wanted();
    port.batch(batch);
    batch = new Batch();
  };
  let sliceStartMs = performance.now();
  let steps = 0;
  for (const item of walk.items()) {
    if (item !== undefined) batch.add(item);
    if (batch.keys.length === BATCH_MAX) await send();
    if (++steps % STEPS_PER_LOOK !== 0 || performance.now() - sliceStartMs < SLICE_MS) continue;
    await nextTurn();
    if (port.isStopped()) return;
    if (batch.isDue()) await send();
    sliceStartMs = performance.now();
  }
  if (batch.keys.length > 0) await send();
  port.notes(notes.take());
  const gap = walk.gaps.error(`the folder ${tree.settings.root}`);
  if (gap !== undefined) throw gap;
}
