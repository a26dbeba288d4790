// Where objects are read from: files, folders (their own .yaml, .yml and .json files, like kubectl), standard input (`-`).
import { isUtf8 } from 'node:buffer';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { systemReason } from '../system-failure.ts';

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
  const attempt = async (name: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      unreadable.push({ name, message: reasonOf(error) });
    }
  };
  for (const path of new Set(paths))
    await attempt(path, async () => {
      for (const name of await namesIn(path, world))
        await attempt(name, async () => void texts.push(await readText(name, world)));
    });
  return { texts, unreadable };
}

/** The path itself, or the files of the folder that it names. */
async function namesIn(path: string, { cwd }: FileWorld): Promise<string[]> {
  if (path === '-') return [path];
  const full = resolve(cwd, path);
  if (!(await stat(full)).isDirectory()) return [path];
  const names = (await readdir(full)).filter((name) => OBJECT_FILE.test(name)).sort();
  if (names.length === 0)
    throw new Error('the folder holds no .yaml, .yml or .json file (folders within it are not searched)');
  return names.map((name) => join(path, name));
}

async function readText(name: string, world: FileWorld): Promise<SourceText> {
  if (name === '-') return { name: 'standard input', folder: world.cwd, text: await world.stdin() };
  const full = resolve(world.cwd, name);
  const { size } = await stat(full);
  if (size > MAX_FILE_BYTES) throw new Error(`the file has ${size} bytes; at most ${MAX_FILE_BYTES} are read`);
  return { name, folder: dirname(full), text: textOf(await readFile(full)) };
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes) || bytes.includes(0))
    throw new Error('it is no text in UTF-8: save it in that encoding, or leave it out');
  return bytes.toString('utf8');
}

const reasonOf = (error: unknown): string =>
  systemReason(error) ?? (error instanceof Error ? error.message : String(error));
