// The source `git`: the files of one commit. The key is the path in the repository, the version the hash of the content.
//   K1. Submodules and symbolic links are no items; a note says so.
//   K2. A Git LFS pointer is refused when it is read: its text is not the content that it stands for.
//   K3. `include` and `exclude` match the path in the repository, whatever `path` narrows it to.
//   K4. A read takes what the ref names now; where that is not the version that was asked for, the ref is looked up again first, because
//       another runner may have seen a newer commit.
import type { Clock } from '../../clock.ts';
import type { ItemContent, ListedItem, ListOptions, ReadOptions, Source } from '../../execute/index.ts';
import type { SourceChange } from '../../protocol/index.ts';
import { StepError } from '../../sdk/index.ts';
import { messageOf, show } from '../common/failure.ts';
import type { PathFilter } from '../common/filter.ts';
import { keyOf, rawOf, rawOfText } from '../common/names.ts';
import { NoteBook } from '../common/notes.ts';
import { tooLarge } from '../common/too-large.ts';
import { orAborted } from '../common/waiting.ts';
import { listTree } from './list.ts';
import type { Repository } from './repository.ts';
import { MissingObject, type TreeEntry, Trees } from './trees.ts';

const BATCH_MAX = 1_000;
/** A look at single items may see a ref that is this old, so that a thousand of them do not ask the server a thousand times. */
const FRESH_MS = 1_000;
/** No pointer is larger, and all start with this line. */
const POINTER_MAX_BYTES = 1_024;
const POINTER_START = Buffer.from('version https://git-lfs.github.com/spec/');

export interface GitSourceOptions {
  readonly open: (signal: AbortSignal) => Promise<Repository>;
  readonly filter: PathFilter;
  /** Folder in the repository; empty: all of it. */
  readonly folder: string;
  readonly clock: Clock;
}

interface Snapshot {
  readonly commit: string;
  readonly tree: string;
}

interface Opened {
  readonly repository: Repository;
  readonly trees: Trees;
}

export class GitSource implements Source {
  readonly #options: GitSourceOptions;
  readonly #notes = new NoteBook();
  #opened: Opened | undefined;
  #snapshot: Snapshot | undefined;
  #listed: string | undefined;
  #pointers = 0;

  constructor(options: GitSourceOptions) {
    this.#options = options;
  }

  async *list({ signal }: ListOptions): AsyncGenerator<readonly ListedItem[]> {
    const { repository, trees } = await this.#open(signal);
    const { commit, tree } = await this.#at(this.#options.clock.nowMs(), signal);
    this.#listed = commit;
    const folder = await this.#folderIn(trees, tree);
    yield* listTree(folder, repository.context, this.#options.filter, this.#notes, signal);
  }

  async stat(key: string, signal: AbortSignal, notBeforeMs?: number): Promise<ListedItem | undefined> {
    signal.throwIfAborted();
    const { repository } = await this.#open(signal);
    const entry = await this.#entry(key, notBeforeMs ?? this.#options.clock.nowMs() - FRESH_MS, signal);
    const info = entry && (await orAborted(repository.objects.info(entry.id), signal));
    return info && { key, version: info.id, sizeBytes: info.sizeBytes };
  }

  async read(key: string, version: string, { signal, maxBytes }: ReadOptions): Promise<ItemContent | undefined> {
    signal.throwIfAborted();
    const { repository } = await this.#open(signal);
    const freshMs = this.#options.clock.nowMs() - FRESH_MS;
    let entry = await this.#entry(key, version === '' ? freshMs : Number.NEGATIVE_INFINITY, signal);
    if (version !== '' && entry?.id !== version) entry = await this.#entry(key, freshMs, signal);
    const info = entry && (await orAborted(repository.objects.info(entry.id), signal));
    if (info === undefined) return undefined;
    if (info.sizeBytes > maxBytes) throw tooLarge(key, info.sizeBytes, maxBytes);
    const bytes = await orAborted(repository.objects.content(info.id), signal);
    if (bytes === undefined)
      throw new StepError('transient', `${show(key)} could not be read: ${new MissingObject(info.id).message}`);
    this.#refusePointer(key, bytes);
    return { version: info.id, bytes };
  }

  async *watch(signal: AbortSignal): AsyncGenerator<readonly SourceChange[]> {
    const { repository, trees } = await this.#open(signal);
    let seen: Snapshot | undefined;
    for await (const _ of repository.movements(signal)) {
      const seenAtMs = this.#options.clock.nowMs();
      const now = await this.#at(seenAtMs, signal);
      if (seen === undefined) yield [];
      else if (seen.tree !== now.tree) yield* this.#changes(trees, seen.tree, now, seenAtMs);
      seen = now;
    }
  }

  revision(): string | undefined {
    return this.#listed;
  }

  takeNotes(): readonly string[] {
    const pointers = this.#pointers;
    if (pointers > 0)
      this.#notes.add(
        `${pointers} ${pointers === 1 ? 'item is a Git LFS pointer and was' : 'items are Git LFS pointers and were'} refused`,
      );
    this.#pointers = 0;
    return this.#notes.take();
  }

  async close(): Promise<void> {
    await this.#opened?.repository.close();
  }

  async #open(signal: AbortSignal): Promise<Opened> {
    signal.throwIfAborted();
    if (this.#opened === undefined) {
      const repository = await this.#options.open(signal);
      this.#opened ??= { repository, trees: new Trees(repository.objects) };
    }
    return this.#opened;
  }

  async #at(notBeforeMs: number, signal: AbortSignal): Promise<Snapshot> {
    const { repository } = await this.#open(signal);
    const commit = await repository.refresh(notBeforeMs, signal);
    if (this.#snapshot?.commit === commit) return this.#snapshot;
    const tree = await orAborted(repository.objects.info(`${commit}^{tree}`), signal);
    if (tree === undefined)
      throw new StepError('transient', `${repository.shown}: ${new MissingObject(commit).message}`);
    this.#snapshot = { commit, tree: tree.id };
    return this.#snapshot;
  }

  /** Where the listing starts. A folder that is not there fails it, so that nothing is deleted by a typing error (F1). */
  async #folderIn(trees: Trees, tree: string): Promise<{ readonly tree: string; readonly prefix: string }> {
    const { folder } = this.#options;
    if (folder === '') return { tree, prefix: '' };
    const entry = await this.#looking(() => trees.find(tree, rawOfText(folder)));
    if (entry?.kind === 'folder') return { tree: entry.id, prefix: `${rawOfText(folder)}/` };
    throw new StepError(
      'transient',
      `git.path: the commit has no folder ${show(folder)}; nothing is deleted meanwhile`,
    );
  }

  async #entry(key: string, notBeforeMs: number, signal: AbortSignal): Promise<TreeEntry | undefined> {
    const raw = rawOf(key);
    if (raw === undefined || !this.#options.filter.admitsFile(key)) return undefined;
    const { tree } = await this.#at(notBeforeMs, signal);
    const { trees } = await this.#open(signal);
    const entry = await orAborted(
      this.#looking(() => trees.find(tree, raw)),
      signal,
    );
    return entry?.kind === 'file' ? entry : undefined;
  }

  async #looking<T>(look: () => Promise<T>): Promise<T> {
    try {
      return await look();
    } catch (error) {
      throw error instanceof StepError
        ? error
        : new StepError('transient', `the repository could not be read: ${messageOf(error)}`);
    }
  }

  async *#changes(
    trees: Trees,
    older: string,
    { tree: newer, commit: revision }: Snapshot,
    seenAtMs: number,
  ): AsyncGenerator<readonly SourceChange[]> {
    let batch: SourceChange[] = [];
    try {
      for await (const { raw, id } of trees.differences(older, newer)) {
        const key = keyOf(raw);
        if (!this.#options.filter.admitsFile(key)) continue;
        batch.push({ key, kind: id === undefined ? 'removed' : 'changed', seenAtMs, revision });
        if (batch.length < BATCH_MAX) continue;
        yield batch;
        batch = [];
      }
    } catch (error) {
      if (!(error instanceof MissingObject)) throw error;
      batch = [{ key: '', kind: 'rescan', seenAtMs, revision }];
    }
    if (batch.length > 0) yield batch;
  }

  #refusePointer(key: string, bytes: Buffer): void {
    if (bytes.length > POINTER_MAX_BYTES || !bytes.subarray(0, POINTER_START.length).equals(POINTER_START)) return;
    this.#pointers++;
    throw new StepError(
      'invalid',
      `${show(key)} is a Git LFS pointer, not the file itself; exclude it, or index a folder where git lfs has put the files`,
    );
  }
}
