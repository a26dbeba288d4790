// Remembers which files were run in a folder, so that `fairlead query` and the like need no -f there. A convenience: where it cannot be
// written or read, nothing happens.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../runner/folders.ts';
import type { Environment } from './secrets.ts';

/** Folders that are remembered; older ones go. */
const FOLDERS_MAX = 200;

type Recent = Record<string, readonly string[]>;

export function recentFile(environment: Environment): string {
  const stateHome = environment.XDG_STATE_HOME || join(homedir(), '.local', 'state');
  return join(stateHome, 'fairlead', 'recent.json');
}

function read(file: string): Recent {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof value === 'object' && value !== null ? (value as Recent) : {};
  } catch {
    return {};
  }
}

/** Notes that these files were run in this folder. */
export function rememberFiles(file: string, folder: string, paths: readonly string[]): void {
  const { [folder]: _, ...others } = read(file);
  const kept = Object.entries(others).slice(0, FOLDERS_MAX - 1);
  try {
    makeFolder(dirname(file));
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, JSON.stringify({ [folder]: paths, ...Object.fromEntries(kept) }));
    renameSync(draft, file);
  } catch {
    // Read-only home folders are common in containers; the next command then needs -f.
  }
}

/** Files that were run last in this folder; undefined: none. */
export function recentFiles(file: string, folder: string): readonly string[] | undefined {
  const paths = read(file)[folder];
  return Array.isArray(paths) && paths.every((path) => typeof path === 'string') ? paths : undefined;
}
