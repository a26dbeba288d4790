// .gitignore files, by the rule that git has: the deepest file that says something about a path decides, and nothing below
// an ignored folder comes back. A scope is a folder with the rules that hold in it.
import { dirname } from 'node:path/posix';
import ignore, { type Ignore } from 'ignore';
import { isGone } from '../common/failure.ts';
import { keyOf } from '../common/names.ts';
import type { Disk } from './disk.ts';

const NAME = '.gitignore';
/** A larger file is no list of patterns; git itself has no bound here. */
const SIZE_MAX = 1n << 20n;
/** The matcher remembers each path that it was asked for; it is made anew after this many, so that memory stays bounded. */
const TESTS_MAX = 10_000;

type Opinion = 'ignored' | 'kept' | 'none';

class Rules {
  readonly #text: string;
  #matcher: Ignore;
  #tests = 0;

  constructor(text: string) {
    this.#text = text;
    this.#matcher = Rules.#compile(text);
  }

  static #compile(text: string): Ignore {
    return ignore({ ignorecase: false, allowRelativePaths: true }).add(text);
  }

  opinion(path: string): Opinion {
    if (this.#tests++ >= TESTS_MAX) {
      this.#matcher = Rules.#compile(this.#text);
      this.#tests = 0;
    }
    const { ignored, unignored } = this.#matcher.test(path);
    return ignored ? 'ignored' : unignored ? 'kept' : 'none';
  }
}

/** Rules that hold in one folder of the tree. */
export class IgnoreScope {
  readonly #outer: IgnoreScope | undefined;
  readonly #rules: Rules;
  /** Makes a key of the tree relative to the folder of these rules. */
  readonly #relative: (key: string) => string;

  constructor(text: string, relative: (key: string) => string, outer: IgnoreScope | undefined) {
    this.#rules = new Rules(text);
    this.#relative = relative;
    this.#outer = outer;
  }

  /** Whether git would leave the path out, given that no folder above it is left out. */
  ignores(key: string, isFolder: boolean): boolean {
    const path = isFolder ? `${key}/` : key;
    for (let scope: IgnoreScope | undefined = this; scope !== undefined; scope = scope.#outer) {
      const opinion = scope.#rules.opinion(scope.#relative(path));
      if (opinion !== 'none') return opinion === 'ignored';
    }
    return false;
  }
}

/** The scope of a folder below the root: that of the folder above, with the folder's own file, if it has one. Throws what reading it threw. */
export function scopeBelow(
  disk: Disk,
  root: string,
  folder: string,
  outer: IgnoreScope | undefined,
): IgnoreScope | undefined {
  const text = readRules(disk, folder === '' ? root : `${root}/${folder}`);
  if (text === undefined) return outer;
  const skip = folder === '' ? 0 : keyOf(folder).length + 1;
  return new IgnoreScope(text, (key) => key.slice(skip), outer);
}

/** The scope above the root: rules of the folders up to the top of the git checkout that the root lies in; none outside a checkout. */
export function scopeAbove(disk: Disk, root: string): IgnoreScope | undefined {
  const folders = foldersUpToCheckout(disk, root);
  let scope: IgnoreScope | undefined;
  for (const folder of folders) {
    const text = [readRules(disk, `${folder}/.git/info`, 'exclude'), readRules(disk, folder)].filter(
      (part) => part !== undefined,
    );
    if (text.length === 0 || folder === root) continue;
    const prefix = keyOf(root.slice(folder === '/' ? 1 : folder.length + 1));
    scope = new IgnoreScope(text.join('\n'), (key) => `${prefix}/${key}`, scope);
  }
  return scope;
}

/** Folders from the top of the checkout to the one above the root, outermost first. */
function foldersUpToCheckout(disk: Disk, root: string): string[] {
  const folders: string[] = [];
  for (let folder = root; ; folder = dirname(folder)) {
    if (folder !== root) folders.unshift(folder);
    if (exists(disk, `${folder}/.git`)) return folders;
    if (folder === dirname(folder)) return [];
  }
}

function exists(disk: Disk, path: string): boolean {
  try {
    disk.lstat(path);
    return true;
  } catch {
    return false;
  }
}

function readRules(disk: Disk, folder: string, name = NAME): string | undefined {
  try {
    const stats = disk.lstat(`${folder}/${name}`);
    return stats.isFile() && stats.size <= SIZE_MAX ? disk.readText(`${folder}/${name}`) : undefined;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
