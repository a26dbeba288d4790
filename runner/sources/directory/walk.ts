// Lists a tree in the order of the bytes of its paths, one step at a time: whoever drives the walk decides when to pause.
// Memory: the names of the folders on the path to the current one, whatever the size of the tree.
//   W1. Each item once, in ascending byte order of the path; what lies behind a link stands where the link's own name stands.
//   W2. What vanishes while the walk goes on is skipped; what cannot be read is a gap, and the walk goes on behind it.
import type { ListedItem } from '../../execute/index.ts';
import { codeOf, isGone, ListingGaps } from '../common/failure.ts';
import { keyOf } from '../common/names.ts';
import { type DiskEntry, versionOf } from './disk.ts';
import type { Folder, Seen, Tree } from './tree.ts';

interface Frame {
  readonly folder: Folder;
  readonly entries: readonly DiskEntry[];
  at: number;
}

/** An item with its raw path. */
export interface WalkedItem extends ListedItem {
  readonly raw: string;
}

export interface WalkHooks {
  /** Called for each folder that the walk enters, before its names are read. */
  entered?(folder: Folder): void;
  note(text: string): void;
}

/** A folder's name sorts as if it ended in a slash, because its items do. */
const sortName = (entry: DiskEntry): string => (entry.isDirectory() ? `${entry.name}/` : entry.name);

const byName = (a: DiskEntry, b: DiskEntry): number => (sortName(a) < sortName(b) ? -1 : 1);

export class Walk {
  readonly gaps = new ListingGaps();
  readonly #tree: Tree;
  readonly #hooks: WalkHooks;
  readonly #stack: Frame[] = [];

  readonly #wants: 'versions' | 'names';

  /** `names`: versions are empty, which saves a look at each file. */
  constructor(tree: Tree, hooks: WalkHooks, wants: 'versions' | 'names' = 'versions') {
    this.#tree = tree;
    this.#hooks = hooks;
    this.#wants = wants;
  }

  /** The items below `from` (the root by default). `undefined` in between is a place to pause. */
  *items(from?: Folder): Generator<WalkedItem | undefined, void, undefined> {
    this.#push(from ?? this.#tree.top());
    for (let frame = this.#stack.at(-1); frame !== undefined; frame = this.#stack.at(-1)) {
      const entry = frame.entries[frame.at++];
      if (entry === undefined) this.#stack.pop();
      else yield this.#visit(frame.folder, entry);
    }
  }

  #visit(folder: Folder, entry: DiskEntry): WalkedItem | undefined {
    const raw = folder.raw === '' ? entry.name : `${folder.raw}/${entry.name}`;
    try {
      if (entry.isDirectory()) return this.#visitFolder(folder, raw, entry.name);
      const key = keyOf(raw);
      if (entry.isFile() && !this.#tree.mayList(folder, key, entry.name)) return undefined;
      if (entry.isFile() && this.#wants === 'names') return { raw, key, version: '' };
      return this.#visitSeen(folder, raw, key, entry.name, this.#tree.look(folder, raw));
    } catch (error) {
      // Only what the file system says is a gap; anything else is a fault of this program, or of who follows the walk.
      if (codeOf(error) === undefined) throw error;
      if (!isGone(error)) this.gaps.add(keyOf(raw), error);
      return undefined;
    }
  }

  #visitFolder(above: Folder, raw: string, name: string): undefined {
    if (!this.#tree.mayEnter(above, raw, name)) return;
    const seen = this.#tree.followsLinks ? this.#tree.look(above, raw) : undefined;
    this.#push(this.#tree.enter(above, raw, seen));
  }

  #visitSeen(folder: Folder, raw: string, key: string, name: string, seen: Seen | undefined): WalkedItem | undefined {
    if (seen?.kind === 'file' && this.#tree.mayList(folder, key, name))
      return { raw, key, version: versionOf(seen.stats), sizeBytes: Number(seen.stats.size) };
    if (seen?.kind === 'folder' && seen.link && this.#tree.mayEnter(folder, raw, name))
      this.#push(this.#tree.enter(folder, raw, seen));
    if (seen?.kind === 'other' && seen.why !== undefined && this.#tree.mayList(folder, key, name))
      this.#hooks.note(seen.why);
    return undefined;
  }

  #push(folder: Folder): void {
    this.#hooks.entered?.(folder);
    try {
      const entries = this.#tree.disk.readdir(this.#tree.path(folder.raw));
      this.#stack.push({ folder, entries: entries.sort(byName), at: 0 });
    } catch (error) {
      if (folder.raw === '') throw error;
      if (!isGone(error)) this.gaps.add(keyOf(folder.raw), error);
    }
  }
}
