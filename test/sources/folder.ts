// Real folders for tests.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '../../runner/clock.ts';
import type { Source } from '../../runner/execute/index.ts';
import { type DirectorySpec, openSource, type SourceOptions } from '../../runner/sources/index.ts';

/** Memory where the system offers it: the tests make tens of thousands of files. */
const base = (): string => (existsSync('/dev/shm') ? '/dev/shm' : tmpdir());

export class TempFolder {
  readonly path: string = mkdtempSync(join(base(), 'fairlead-sources-'));

  at(name: string): string {
    return join(this.path, name);
  }

  /** Writes files, their folders with them. */
  write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(this.at(name)), { recursive: true });
      writeFileSync(this.at(name), text);
    }
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
    rmSync(`${this.path}-cache`, { recursive: true, force: true });
  }
}

export function sourceOptions(folder: TempFolder, changes: Partial<SourceOptions> = {}): SourceOptions {
  return {
    name: 'docs',
    clock: systemClock,
    cacheDir: `${folder.path}-cache`,
    baseDir: folder.path,
    secret: async () => 'a secret',
    ...changes,
  };
}

export function openDirectory(folder: TempFolder, spec: Partial<DirectorySpec> = {}): Source {
  return openSource({ directory: { path: folder.path, ...spec } }, sourceOptions(folder));
}
