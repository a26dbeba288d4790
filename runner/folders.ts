// Folders that are made where they are missing.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it; one that is there is left as it is. Node's own recursive `mkdir` never ends where the system says of a name
 * below a folder that is there that there is no such folder, as /proc does. Throws what the system threw, which names the folder.
 */
export function makeFolder(path: string, mode?: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  const above = dirname(path);
  if (!existsSync(above)) makeFolder(above, mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    const madeMeanwhile = statSync(path, { throwIfNoEntry: false })?.isDirectory();
    if (!madeMeanwhile) throw error;
  }
}
