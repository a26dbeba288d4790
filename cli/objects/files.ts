// Where objects are read from: files, folders (their own .yaml, .yml and .json files, like kubectl), standard input (`-`).
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/** Text of one file. */
export interface SourceText {
  /** As it was asked for: the path given, or `standard input`. */
  readonly name: string;
  /** Folder that relative paths in the objects start from. */
  readonly folder: string;
  readonly text: string;
}

/** A path that could not be read. */
export interface Unreadable {
  readonly name: string;
  readonly message: string;
}

/** What reading needs of the world. */
export interface FileWorld {
  readonly cwd: string;
  readonly stdin: () => Promise<string>;
}

/** Larger files are refused: an object of Kubernetes is at most 1.5 MB anyway. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

const OBJECT_FILE = /\.(ya?ml|json)$/i;

/** Texts of all paths in the order given, folders sorted by name. */
export async function readTexts(
  paths: readonly string[],
  world: FileWorld,
): Promise<{ texts: SourceText[]; unreadable: Unreadable[] }> {
  const texts: SourceText[] = [];
  const unreadable: Unreadable[] = [];
  for (const path of new Set(paths)) {
    try {
      texts.push(...(await readPath(path, world)));
    } catch (error) {
      unreadable.push({ name: path, message: reasonOf(error) });
    }
  }
  return { texts, unreadable };
}

async function readPath(path: string, world: FileWorld): Promise<SourceText[]> {
  if (path === '-') return [{ name: 'standard input', folder: world.cwd, text: await world.stdin() }];
  const full = resolve(world.cwd, path);
  if (!(await stat(full)).isDirectory()) return [await readText(full, path)];
  const names = (await readdir(full)).filter((name) => OBJECT_FILE.test(name)).sort();
  if (names.length === 0)
    throw new Error('the folder holds no .yaml, .yml or .json file (folders within it are not searched)');
  return Promise.all(names.map((name) => readText(join(full, name), join(path, name))));
}

async function readText(full: string, name: string): Promise<SourceText> {
  const { size } = await stat(full);
  if (size > MAX_FILE_BYTES) throw new Error(`the file has ${size} bytes; at most ${MAX_FILE_BYTES} are read`);
  return { name, folder: dirname(full), text: await readFile(full, 'utf8') };
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'it may not be read (permission denied)',
  EISDIR: 'it is a folder',
};

function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return REASONS[code] ?? (error instanceof Error ? error.message : String(error));
}
