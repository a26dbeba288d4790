// A folder on disk as a tree of items: what lies at a path, by the rules of the source. Listing, looking at one key and
// watching all ask here, so that they agree.
//   T1. An item is a regular file, or a link to one that the policy follows.
//   T2. `.git` is never entered: it is the store of a repository, not a part of the tree.
//   T3. A linked folder is entered unless it is a folder above itself or the path already went through a linked folder. So a tree with
//       links is finite; what a second link hides inside the root is still listed by its real path.
//   T4. With `FollowInside` nothing is read whose real path is not below the root; with `Ignore` nothing behind any link.
import type { BigIntStats } from 'node:fs';
import { isGone, reasonOf, show } from '../common/failure.ts';
import { filterWithin, type PathFilter, pathFilter } from '../common/filter.ts';
import { keyOf, rawOfText } from '../common/names.ts';
import { type Disk, inodeOf, disk as realDisk } from './disk.ts';
import { type IgnoreScope, scopeAbove, scopeBelow } from './ignore.ts';
import type { DirectorySettings } from './settings.ts';

/** A folder that is being looked into. Paths are raw and relative to the root, which is the empty path. */
export interface Folder {
  readonly raw: string;
  readonly scope: IgnoreScope | undefined;
  /** The path to it goes through a linked folder. */
  readonly linked: boolean;
  /** Real folders on the path, itself included; kept only where links are followed. */
  readonly inodes: readonly string[];
}

/** What lies at a path. */
export type Seen =
  | { readonly kind: 'file'; readonly stats: BigIntStats; readonly link: boolean }
  | { readonly kind: 'folder'; readonly stats: BigIntStats; readonly link: boolean }
  /** Nothing that the source reads; `why` is for people, absent where it needs no word. */
  | { readonly kind: 'other'; readonly why?: string };

const GIT = '.git';
const OTHER: Seen = { kind: 'other' };

export class Tree {
  readonly settings: DirectorySettings;
  readonly root: string;
  readonly filter: PathFilter;
  readonly disk: Disk;
  readonly followsLinks: boolean;
  /** The root as the start of a path: without the slash of `/`. */
  readonly #prefix: string;
  /** Kept from read to read, looked up again when a file does not lie below it. */
  #realRoot: string | undefined;

  constructor(settings: DirectorySettings, disk: Disk = realDisk) {
    this.settings = settings;
    this.disk = disk;
    this.root = rawOfText(settings.root);
    this.#prefix = this.root === '/' ? '' : this.root;
    this.filter = filterWithin(settings.within ?? '', pathFilter(settings));
    this.followsLinks = settings.symlinks !== 'Ignore';
  }

  /** Absolute raw path. */
  path(raw: string): string {
    return raw === '' ? this.root : `${this.#prefix}/${raw}`;
  }

  /** The root as a folder. Throws what the file system threw. */
  top(): Folder {
    const stats = this.disk.stat(this.root);
    const scope = this.settings.gitignore
      ? scopeBelow(this.disk, this.root, '', scopeAbove(this.disk, this.root))
      : undefined;
    return { raw: '', scope, linked: false, inodes: this.followsLinks ? [inodeOf(stats)] : [] };
  }

  /** A folder of a folder; `seen` is needed only where links are followed. */
  enter(above: Folder, raw: string, seen: Seen | undefined): Folder {
    const scope = this.settings.gitignore ? scopeBelow(this.disk, this.root, raw, above.scope) : undefined;
    if (seen?.kind !== 'folder') return { raw, scope, linked: above.linked, inodes: above.inodes };
    return { raw, scope, linked: above.linked || seen.link, inodes: [...above.inodes, inodeOf(seen.stats)] };
  }

  /** Whether a folder's name and rules let it hold items. */
  mayEnter(above: Folder, raw: string, name: string): boolean {
    if (name === GIT) return false;
    const key = keyOf(raw);
    return this.filter.mayHold(key) && above.scope?.ignores(key, true) !== true;
  }

  /** Whether a file of an entered folder is an item by its name and the rules. */
  mayList(above: Folder, key: string, name: string): boolean {
    return name !== GIT && this.filter.admitsName(key) && above.scope?.ignores(key, false) !== true;
  }

  /** What lies at a path of an entered folder; undefined: nothing. Throws what the file system threw. */
  look(above: Folder, raw: string): Seen | undefined {
    try {
      const stats = this.disk.lstat(this.path(raw));
      if (stats.isFile()) return { kind: 'file', stats, link: false };
      if (stats.isDirectory()) return { kind: 'folder', stats, link: false };
      if (stats.isSymbolicLink()) return this.#lookBehind(above, raw);
      return { kind: 'other', why: `${show(keyOf(raw))} is no regular file and is left out` };
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  /** The folder that holds a path, with the rules on the way to it; undefined where the listing would not come by. */
  folderOf(raw: string): Folder | undefined {
    const names = raw.split('/').slice(0, -1);
    let folder = this.top();
    for (const name of names) {
      const below = folder.raw === '' ? name : `${folder.raw}/${name}`;
      if (!this.mayEnter(folder, below, name)) return undefined;
      const seen = this.look(folder, below);
      if (seen?.kind !== 'folder') return undefined;
      folder = this.enter(folder, below, this.followsLinks ? seen : undefined);
    }
    return folder;
  }

  /**
   * Whether an item may lie at a path, so that opening it tells the rest. Without links and ignore files the path alone says so;
   * else the folders on the way are looked at. Throws what the file system threw.
   */
  mayBeItem(raw: string): boolean {
    if (this.followsLinks || this.settings.gitignore) return this.item(raw) !== undefined;
    return this.filter.admitsFile(keyOf(raw)) && !raw.split('/').includes(GIT);
  }

  /** The file of an item; undefined where there is no item. Throws what the file system threw. */
  item(raw: string): { readonly stats: BigIntStats; readonly link: boolean } | undefined {
    const folder = this.folderOf(raw);
    const name = raw.slice(raw.lastIndexOf('/') + 1);
    if (folder === undefined || !this.mayList(folder, keyOf(raw), name)) return undefined;
    const seen = this.look(folder, raw);
    return seen?.kind === 'file' ? seen : undefined;
  }

  /** Whether a real path may be read (T4). */
  permits(realPath: string, realRoot: string): boolean {
    return this.settings.symlinks === 'Follow' || realPath.startsWith(realRoot === '/' ? '/' : `${realRoot}/`);
  }

  /** Whether an open file may be read (T4): `opened` is the path that it was opened by, `real` the one that the system names. */
  permitsRead(real: string, opened: string): boolean {
    if (this.#fits(real, opened)) return true;
    this.#realRoot = this.disk.realpath(this.root);
    return this.#fits(real, opened);
  }

  #fits(real: string, opened: string): boolean {
    if (this.#realRoot === undefined) return false;
    return this.followsLinks
      ? this.permits(real, this.#realRoot)
      : real === (this.#realRoot === '/' ? '' : this.#realRoot) + opened.slice(this.#prefix.length);
  }

  #lookBehind(above: Folder, raw: string): Seen {
    const key = show(keyOf(raw));
    if (!this.followsLinks) return { kind: 'other', why: `${key} is a symbolic link and is not followed` };
    try {
      const target = this.disk.realpath(this.path(raw));
      const stats = this.disk.stat(this.path(raw));
      if (stats.isDirectory()) return this.#linkedFolder(above, key, target, stats);
      if (!this.permits(target, this.disk.realpath(this.root))) return outside(key);
      return stats.isFile() ? { kind: 'file', stats, link: true } : OTHER;
    } catch (error) {
      return { kind: 'other', why: `the symbolic link ${key} leads nowhere: ${reasonOf(error)}` };
    }
  }

  #linkedFolder(above: Folder, key: string, target: string, stats: BigIntStats): Seen {
    const realRoot = this.disk.realpath(this.root);
    if (target !== realRoot && !this.permits(target, realRoot)) return outside(key);
    if (above.inodes.includes(inodeOf(stats)))
      return { kind: 'other', why: `the symbolic link ${key} leads to a folder above it and is not entered` };
    if (above.linked)
      return { kind: 'other', why: `the symbolic link ${key} lies behind another one and is not entered` };
    return { kind: 'folder', stats, link: true };
  }
}

const outside = (key: string): Seen => ({
  kind: 'other',
  why: `the symbolic link ${key} leads out of the root and is not followed`,
});
