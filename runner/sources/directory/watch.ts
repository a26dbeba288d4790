// Watches a tree by file events: one watch per folder, none per file. Runs in the helper thread, whose event loop does little
// else, so that the kernel's queue of events is read at once.
//   V1. A folder is watched before its names are read: what comes in between is seen twice rather than never.
//   V2. The names of the items of each watched folder are kept, so that a folder that was moved away takes its items with it.
//   V3. Whatever may have been missed (an overflow, other ignore rules) ends in a `rescan`, after the tree is watched anew.
//   V4. The first change of a file is told after a few milliseconds, further ones of the same file at most ten times a second.
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path/posix';
import type { CancelTimer, Clock } from '../../clock.ts';
import type { SourceChange } from '../../protocol/index.ts';
import { codeOf, messageOf, reasonOf } from '../common/failure.ts';
import { keyOf } from '../common/names.ts';
import { inodeOf, versionOf } from './disk.ts';
import type { Folder, Seen, Tree } from './tree.ts';
import { Walk } from './walk.ts';

/** Events of one saved file come together: created, written, renamed. */
const SETTLE_MS = 3;
/** V4: pause between two tellings of one file. */
const REPEAT_MS = 100;

export interface WatchPort {
  changes(changes: readonly SourceChange[]): void;
  note(text: string): void;
  /** The watch cannot go on. */
  failed(error: unknown): void;
}

interface Closable {
  close(): void;
}

interface Watched {
  readonly folder: Folder;
  readonly watcher: Closable;
  readonly inode: string;
  /** Names of its items. */
  readonly names: Set<string>;
}

/** The system has no room for more watches. */
export class TooManyFolders extends Error {
  override readonly name = 'TooManyFolders';
}

/** Events that the kernel keeps for a reader before it drops some; half of it in one turn counts as an overflow, which Node cannot see. */
function eventsPerTurnMax(): number {
  try {
    return Math.max(1_000, Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8')) / 2);
  } catch {
    return 8_192;
  }
}

const join = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);
const folderOf = (raw: string): string => raw.slice(0, Math.max(0, raw.lastIndexOf('/')));
const nameOf = (raw: string): string => raw.slice(raw.lastIndexOf('/') + 1);

export class TreeWatch {
  readonly #tree: Tree;
  readonly #port: WatchPort;
  readonly #clock: Clock;
  readonly #eventsMax: number;
  readonly #watched = new Map<string, Watched>();
  /** Links to files: their targets lie elsewhere, and so do the events (raw path of the link to the version of its target). */
  readonly #links = new Map<string, string>();
  /** Folders outside the walk whose events may concern the root or a link. */
  readonly #beside = new Map<string, Closable>();
  /** Paths that an event named, and when. */
  #dirty = new Map<string, number>();
  /** Tellings of the last moments, the oldest first. */
  readonly #told = new Map<string, { readonly toldMs: number; readonly version: string }>();
  #out = new Map<string, SourceChange>();
  #timer: { readonly dueMs: number; readonly cancel: CancelTimer } | undefined;
  #eventsThisTurn = 0;
  #mustRelearn = false;
  #isClosed = false;

  constructor(tree: Tree, port: WatchPort, clock: Clock, eventsMax: number = eventsPerTurnMax()) {
    this.#tree = tree;
    this.#port = port;
    this.#clock = clock;
    this.#eventsMax = eventsMax;
  }

  /** Arms the watch; `port` hears of changes from now on. Throws what the file system threw for the root, and TooManyFolders. */
  arm(): void {
    this.#watchBeside(dirname(this.#tree.root), (name) => name === basename(this.#tree.root));
    this.#learn(this.#tree.top());
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#unwatchAll();
    for (const watcher of this.#beside.values()) watcher.close();
    this.#beside.clear();
  }

  // ---- what is watched -------------------------------------------------------------------------------------------

  /** Watches a folder and all below it that may hold items; `found` hears of the items that are there. */
  #learn(folder: Folder, found?: (raw: string) => void): void {
    const walk = new Walk(
      this.#tree,
      { entered: (below) => this.#watchFolder(below), note: (text) => this.#port.note(text) },
      'names',
    );
    for (const item of walk.items(folder)) {
      if (item === undefined) continue;
      this.#watched.get(folderOf(item.raw))?.names.add(nameOf(item.raw));
      if (this.#tree.followsLinks) this.#learnLink(item.raw);
      found?.(item.raw);
    }
    const gap = walk.gaps.error(`the folder ${this.#tree.settings.root}`);
    if (gap !== undefined) this.#port.note(gap.message);
  }

  #watchFolder(folder: Folder): void {
    try {
      const path = this.#tree.path(folder.raw);
      const watcher = this.#watch(path, (name) => this.#onEvent(folder.raw, name));
      this.#watched.set(folder.raw, { folder, watcher, inode: inodeOf(this.#tree.disk.stat(path)), names: new Set() });
    } catch (error) {
      if (error instanceof TooManyFolders || folder.raw === '') throw error;
      // Gone again, or not readable: the walk says so.
    }
  }

  #watch(path: string, onEvent: (name: string | null) => void): Closable {
    try {
      return this.#tree.disk.watch(path, onEvent, () => this.#lostTrack());
    } catch (error) {
      if (!['ENOSPC', 'EMFILE', 'ENFILE'].includes(codeOf(error) ?? '')) throw error;
      throw new TooManyFolders(`${reasonOf(error)}: ${messageOf(error)}`);
    }
  }

  #watchBeside(path: string, concerns: (name: string) => boolean): void {
    if (this.#beside.has(path)) return;
    try {
      const watcher = this.#watch(path, (name) => {
        if (name === null || concerns(name)) this.#schedule(SETTLE_MS);
      });
      this.#beside.set(path, watcher);
    } catch {
      // A net under the watch of the tree itself; the periodic full cycle is the other one.
    }
  }

  #unwatchAll(): void {
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
    this.#links.clear();
  }

  #learnLink(raw: string): void {
    try {
      const path = this.#tree.path(raw);
      if (!this.#tree.disk.lstat(path).isSymbolicLink()) return;
      this.#links.set(raw, versionOf(this.#tree.disk.stat(path)));
      this.#watchBeside(dirname(this.#tree.disk.realpath(path)), () => true);
    } catch {
      this.#links.delete(raw);
    }
  }

  // ---- events ----------------------------------------------------------------------------------------------------

  #onEvent(folder: string, name: string | null): void {
    if (this.#eventsThisTurn++ === 0)
      setImmediate(() => {
        this.#eventsThisTurn = 0;
      });
    if (this.#eventsThisTurn >= this.#eventsMax || name === null) return this.#lostTrack();
    const raw = join(folder, name);
    if (!this.#dirty.has(raw)) this.#dirty.set(raw, this.#clock.nowMs());
    this.#schedule(SETTLE_MS);
  }

  #lostTrack(): void {
    this.#mustRelearn = true;
    this.#schedule(SETTLE_MS);
  }

  #schedule(delayMs: number): void {
    const dueMs = this.#clock.nowMs() + delayMs;
    if (this.#isClosed || (this.#timer !== undefined && this.#timer.dueMs <= dueMs)) return;
    this.#timer?.cancel();
    const cancel = this.#clock.after(delayMs, () => {
      this.#timer = undefined;
      this.#flush();
    });
    this.#timer = { dueMs, cancel };
  }

  #flush(): void {
    try {
      this.#checkRoot();
      const dirty = [...this.#dirty].sort(([a], [b]) => (a < b ? -1 : 1));
      this.#dirty = new Map();
      for (const [raw, seenAtMs] of dirty) this.#settle(raw, seenAtMs);
      this.#checkLinks();
      if (this.#mustRelearn) this.#relearn();
      this.#forgetOldTellings();
      this.#send();
    } catch (error) {
      this.close();
      this.#port.failed(error);
    }
  }

  #send(): void {
    if (this.#out.size === 0) return;
    this.#port.changes([...this.#out.values()]);
    this.#out = new Map();
  }

  /** A root that was removed or replaced is not the one that is watched. Throws what the file system threw. */
  #checkRoot(): void {
    const inode = inodeOf(this.#tree.disk.stat(this.#tree.root));
    if (inode !== this.#watched.get('')?.inode) this.#mustRelearn = true;
  }

  /** Looks at one path that an event named and tells what became of it. */
  #settle(raw: string, seenAtMs: number): void {
    const above = this.#watched.get(folderOf(raw));
    if (above === undefined) return;
    const name = nameOf(raw);
    if (name === '.gitignore' && this.#tree.settings.gitignore) this.#mustRelearn = true;
    const seen = this.#lookAt(above, raw);
    if (seen === 'unreadable') this.#tell(raw, 'unknown', seenAtMs);
    else if (seen?.kind === 'folder') this.#settleFolder(above, raw, seen, seenAtMs);
    else if (seen?.kind === 'file' && this.#tree.mayList(above.folder, keyOf(raw), name))
      this.#settleFile(above, raw, seen, seenAtMs);
    else this.#forget(above, raw, seenAtMs);
  }

  #lookAt(above: Watched, raw: string): Seen | undefined | 'unreadable' {
    try {
      return this.#tree.look(above.folder, raw);
    } catch {
      return above.names.has(nameOf(raw)) ? 'unreadable' : undefined;
    }
  }

  #settleFolder(above: Watched, raw: string, seen: Seen & { kind: 'folder' }, seenAtMs: number): void {
    const known = this.#watched.get(raw);
    if (known?.inode === inodeOf(seen.stats)) return;
    this.#forget(above, raw, seenAtMs);
    if (!this.#tree.mayEnter(above.folder, raw, nameOf(raw))) return;
    const folder = this.#tree.enter(above.folder, raw, this.#tree.followsLinks ? seen : undefined);
    this.#learn(folder, (item) => this.#tell(item, 'changed', seenAtMs));
  }

  #settleFile(above: Watched, raw: string, seen: Seen & { kind: 'file' }, seenAtMs: number): void {
    if (this.#watched.has(raw)) this.#forget(above, raw, seenAtMs);
    const told = this.#told.get(raw);
    const version = versionOf(seen.stats);
    const isKnown = above.names.has(nameOf(raw));
    if (isKnown && told?.version === version) return;
    const sinceMs = this.#clock.nowMs() - (told?.toldMs ?? Number.NEGATIVE_INFINITY);
    if (isKnown && sinceMs < REPEAT_MS) {
      this.#dirty.set(raw, seenAtMs);
      this.#schedule(REPEAT_MS - sinceMs);
      return;
    }
    above.names.add(nameOf(raw));
    if (seen.link) this.#learnLink(raw);
    this.#tell(raw, 'changed', seenAtMs);
    this.#told.delete(raw);
    this.#told.set(raw, { toldMs: this.#clock.nowMs(), version });
  }

  /** The path holds no item any more, nor does anything below it (V2). */
  #forget(above: Watched, raw: string, seenAtMs: number): void {
    this.#links.delete(raw);
    if (above.names.delete(nameOf(raw))) this.#tell(raw, 'removed', seenAtMs);
    if (!this.#watched.has(raw)) return;
    for (const [path, { watcher, names }] of this.#watched) {
      if (path !== raw && !path.startsWith(`${raw}/`)) continue;
      watcher.close();
      this.#watched.delete(path);
      for (const name of names) this.#tell(join(path, name), 'removed', seenAtMs);
    }
  }

  /** Links to files are few; their targets' versions are compared whenever something happened. */
  #checkLinks(): void {
    for (const [raw, version] of this.#links) {
      this.#learnLink(raw);
      const now = this.#links.get(raw);
      if (now !== version) this.#tell(raw, now === undefined ? 'unknown' : 'changed', this.#clock.nowMs());
    }
  }

  /** V3: watches everything anew, then asks for a full cycle, which sees whatever was missed. */
  #relearn(): void {
    this.#mustRelearn = false;
    this.#unwatchAll();
    this.#learn(this.#tree.top());
    this.#out = new Map([['', { key: '', kind: 'rescan', seenAtMs: this.#clock.nowMs() }]]);
  }

  #tell(raw: string, kind: SourceChange['kind'], seenAtMs: number): void {
    const key = keyOf(raw);
    this.#out.set(key, { key, kind, seenAtMs });
  }

  #forgetOldTellings(): void {
    const oldestMs = this.#clock.nowMs() - REPEAT_MS;
    for (const [raw, { toldMs }] of this.#told) {
      if (toldMs > oldestMs) break;
      this.#told.delete(raw);
    }
  }
}
