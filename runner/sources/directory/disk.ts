// The file system calls of a walk, as a port, so that tests can let single calls fail. They are synchronous: in the helper
// thread nothing else waits for them, and a synchronous lstat costs a quarter of an asynchronous one.
import { type BigIntStats, lstatSync, readdirSync, readFileSync, realpathSync, statSync, watch } from 'node:fs';
import { fsPath } from '../common/names.ts';

/** One name in a folder; names are raw (one byte per character). */
export interface DiskEntry {
  readonly name: string;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

/** All paths are raw and absolute. Errors are those of Node. */
export interface Disk {
  readdir(path: string): DiskEntry[];
  lstat(path: string): BigIntStats;
  /** Follows links. */
  stat(path: string): BigIntStats;
  /** The path without links. */
  realpath(path: string): string;
  readText(path: string): string;
  /** Tells of each event in a folder with the raw name that it names, or null; `failed` when no more will come. */
  watch(path: string, onEvent: (name: string | null) => void, failed: () => void): { close(): void };
}

export const disk: Disk = {
  // Names as latin1 are the raw bytes; @types/node knows no such overload with file types.
  readdir: (path) => readdirSync(fsPath(path), { withFileTypes: true, encoding: 'latin1' as 'utf8' }),
  lstat: (path) => lstatSync(fsPath(path), { bigint: true }),
  stat: (path) => statSync(fsPath(path), { bigint: true }),
  realpath: (path) => realpathSync.native(fsPath(path), 'latin1'),
  readText: (path) => readFileSync(fsPath(path), 'utf8'),
  watch: (path, onEvent, failed) => {
    const watcher = watch(fsPath(path), { encoding: 'latin1' }, (_event, name) => onEvent(name));
    return watcher.on('error', failed);
  },
};

/**
 * Version of a file: size, time of content, time of inode and inode number. A touch changes it (the content's hash then saves the work);
 * a rewrite that puts the old modification time back changes it too, by the time of the inode.
 */
export function versionOf(stats: BigIntStats): string {
  return `${stats.size.toString(36)}-${stats.mtimeNs.toString(36)}-${stats.ctimeNs.toString(36)}-${stats.ino.toString(36)}`;
}

/** Identity of a folder while it exists. */
export const inodeOf = (stats: BigIntStats): string => `${stats.dev}:${stats.ino}`;
