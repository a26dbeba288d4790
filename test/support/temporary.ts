// Folders that are gone when the test file is done.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const folders: string[] = [];
let isArmed = false;

export function temporaryFolder(): string {
  if (!isArmed) {
    isArmed = true;
    afterAll(() => {
      for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
    });
  }
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-'));
  folders.push(folder);
  return folder;
}
