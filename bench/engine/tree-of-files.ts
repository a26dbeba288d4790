// About 5,000 real source files, copied from what is installed on this machine: the packages of this repository, then Python's own library.
import { cpSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FILES = 5_000;
const FILE_BYTES_MAX = 400_000;
const KINDS = new Set(['.ts', '.js', '.mjs', '.cjs', '.py', '.c', '.h']);
const PACKAGES = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** Copies them below `folder`; answers their paths there. */
export function copyFiles(folder: string): string[] {
  const copied: string[] = [];
  for (const root of [PACKAGES, ...pythonLibraries()]) {
    for (const path of sourceFiles(root)) {
      if (copied.length >= FILES) return copied;
      const copy = `${String(copied.length % 50)}/${String(copied.length)}${extname(path)}`;
      mkdirSync(dirname(join(folder, copy)), { recursive: true });
      cpSync(path, join(folder, copy));
      copied.push(copy);
    }
  }
  return copied;
}

function pythonLibraries(): string[] {
  if (!existsSync('/usr/lib')) return [];
  return readdirSync('/usr/lib')
    .filter((name) => name.startsWith('python3'))
    .map((name) => join('/usr/lib', name));
}

/** Files in the order of their paths, so that each run takes the same ones. */
function* sourceFiles(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sourceFiles(path);
    else if (entry.isFile() && KINDS.has(extname(entry.name)) && isFit(path)) yield path;
  }
}

function isFit(path: string): boolean {
  const { size } = statSync(path);
  return size > 0 && size <= FILE_BYTES_MAX;
}
