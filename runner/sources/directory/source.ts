// The source `directory`: the files below a folder.
//   D1. The key is the path below the root; the version is size, times and inode.
//   D2. A listing that could not see everything throws, after it gave all that it saw (F1). A file that cannot be read fails alone.
import type { Clock } from '../../clock.ts';
import type { ItemContent, ListedItem, ListOptions, ReadOptions, Source } from '../../execute/index.ts';
import type { SourceChange } from '../../protocol/index.ts';
import { StepError } from '../../sdk/index.ts';
import { ChangeQueue } from '../common/change-queue.ts';
import { reasonOf, show } from '../common/failure.ts';
import { Gate } from '../common/gate.ts';
import { rawOf } from '../common/names.ts';
import { NoteBook } from '../common/notes.ts';
import { Stream } from '../common/stream.ts';
import { versionOf } from './disk.ts';
import { failureOf, Helper, type HelperOptions } from './helper.ts';
import type { Columns } from './messages.ts';
import { readFile } from './read.ts';
import type { DirectorySettings } from './settings.ts';
import { Tree } from './tree.ts';

/** Files of one source that are open at once: more than the threads that Node reads with, far fewer than a process may open (F32). */
const OPEN_FILES_MAX = 32;
/** Batches that the helper may be ahead of the reader. */
const BATCHES_AHEAD = 3;

export class DirectorySource implements Source {
  readonly #tree: Tree;
  readonly #clock: Clock;
  readonly #helper: Helper;
  readonly #gate = new Gate(OPEN_FILES_MAX);
  readonly #notes = new NoteBook();

  constructor(settings: DirectorySettings, options: HelperOptions) {
    this.#tree = new Tree(settings);
    this.#clock = options.clock;
    this.#helper = new Helper(settings, options);
  }

  async *list({ signal }: ListOptions): AsyncGenerator<readonly ListedItem[]> {
    signal.throwIfAborted();
    const stream = new Stream<Columns>();
    const job = this.#helper.start('list', (message) => {
      if (message.kind === 'batch') stream.push(message.columns);
      else if (message.kind === 'notes') this.#notes.addAll(message.notes);
      else if (message.kind === 'ended') stream.end();
      else if (message.kind === 'failed') stream.fail(failureOf(message));
    });
    try {
      for (let ahead = 0; ahead < BATCHES_AHEAD; ahead++) this.#helper.more(job);
      for await (const columns of stream.read(signal)) {
        this.#helper.more(job);
        yield itemsOf(columns);
      }
    } finally {
      this.#helper.stop(job);
    }
  }

  async stat(key: string, signal: AbortSignal): Promise<ListedItem | undefined> {
    signal.throwIfAborted();
    const raw = rawOf(key);
    const seen = raw === undefined ? undefined : looking(key, () => this.#tree.item(raw));
    return seen && { key, version: versionOf(seen.stats), sizeBytes: Number(seen.stats.size) };
  }

  async read(key: string, _version: string, options: ReadOptions): Promise<ItemContent | undefined> {
    options.signal.throwIfAborted();
    const raw = rawOf(key);
    if (raw === undefined || !looking(key, () => this.#tree.mayBeItem(raw))) return undefined;
    return await this.#gate.run(options.signal, () => readFile(this.#tree, raw, this.#clock, options));
  }

  async *watch(signal: AbortSignal): AsyncGenerator<readonly SourceChange[]> {
    signal.throwIfAborted();
    const queue = new ChangeQueue();
    const job = this.#helper.start('watch', (message) => {
      if (message.kind === 'armed') queue.arm();
      else if (message.kind === 'changes') queue.add(message.changes);
      else if (message.kind === 'notes') this.#notes.addAll(message.notes);
      else if (message.kind === 'failed') queue.fail(failureOf(message));
    });
    try {
      yield* queue.read(signal);
    } finally {
      this.#helper.stop(job);
    }
  }

  takeNotes(): readonly string[] {
    return this.#notes.take();
  }

  async close(): Promise<void> {
    await this.#helper.close();
  }
}

/** Puts the key into what a look at it throws. */
function looking<T>(key: string, look: () => T): T {
  try {
    return look();
  } catch (error) {
    throw new StepError('transient', `${show(key)} could not be looked at: ${reasonOf(error)}`, { cause: error });
  }
}

function itemsOf({ keys, versions, sizes }: Columns): ListedItem[] {
  return keys.map((key, at) => ({ key, version: versions[at] ?? '', sizeBytes: sizes[at] ?? 0 }));
}
