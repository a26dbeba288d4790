// About 5,000 real source files, copied from what is installed on this machine: the packages of this repository, then Python's own library.
import { cpSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FILES = 5_000;
const FILE_BYTES_MIN = 500;
const FILE_BYTES_MAX = 100_000;
const KINDS = new Set(['.ts', '.js', '.mjs', '.cjs', '.py', '.c', '.h', '.go', '.rs', '.java']);
const PACKAGES = fileURLToPath(new URL('../../node_modules', import.meta.url));

export interface Corpus {
  readonly files: number;
  readonly bytes: number;
  /** Files by kind, such as `.py`. */
  readonly kinds: ReadonlyMap<string, number>;
}

interface Found {
  readonly path: string;
  readonly bytes: number;
}

/** Copies them below `folder`: of all that fit, in the order of their paths, so many at equal distances that each run takes the same ones. */
export function copyCorpus(folder: string): Corpus {
  const found = [PACKAGES, ...pythonLibraries()].flatMap((root) => [...sourceFiles(root)]);
  const count = Math.min(FILES, found.length);
  const kinds = new Map<string, number>();
  let bytes = 0;
  for (let index = 0; index < count; index += 1) {
    const file = found[Math.floor((index * found.length) / count)] as Found;
    const kind = extname(file.path);
    const copy = join(folder, String(index % 50), `${String(index).padStart(4, '0')}${kind}`);
    mkdirSync(dirname(copy), { recursive: true });
    cpSync(file.path, copy);
    bytes += file.bytes;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return { files: count, bytes, kinds };
}

/** Paths of the files below a folder, in order. */
export function pathsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function pythonLibraries(): string[] {
  if (!existsSync('/usr/lib')) return [];
  return readdirSync('/usr/lib')
    .filter((name) => name.startsWith('python3'))
    .sort()
    .map((name) => join('/usr/lib', name));
}

function* sourceFiles(folder: string): Generator<Found> {
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    // Caches of tools, which come and go.
    if (entry.name.startsWith('.')) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sourceFiles(path);
    else if (entry.isFile() && KINDS.has(extname(entry.name))) {
      const { size: bytes } = statSync(path);
      if (bytes >= FILE_BYTES_MIN && bytes <= FILE_BYTES_MAX) yield { path, bytes };
    }
  }
}
