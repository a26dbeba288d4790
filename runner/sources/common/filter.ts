// Which paths of a tree are items, by include and exclude globs. Pure.
//   F-a. A path is an item if some include matches it (or none is given) and no exclude matches it or a folder above it.
//   F-b. Whether a path is an item depends on the path alone, so a listing that skips excluded folders and a look at one key agree.

import picomatch from 'picomatch';
import { StepError } from '../../sdk/index.ts';
import type { FilterSpec } from './spec.ts';

type Matcher = (path: string) => boolean;

// `dot`: hidden files are files. `s`: a name may hold a newline.
const OPTIONS = { dot: true, flags: 's', nonegate: true } as const;

export interface PathFilter {
  /** Whether a file with this key is an item, its folders considered. */
  admitsFile(key: string): boolean;
  /** The same for a walker that entered all folders above by `mayHold`. */
  admitsName(key: string): boolean;
  /** Whether a folder can hold items at all; false: it need not be entered. */
  mayHold(folder: string): boolean;
}

/** Narrows a filter to what lies below a folder; the empty folder is all. */
export function filterWithin(folder: string, filter: PathFilter): PathFilter {
  if (folder === '') return filter;
  const isWithin = (key: string) => key.startsWith(`${folder}/`);
  return {
    admitsFile: (key) => isWithin(key) && filter.admitsFile(key),
    admitsName: (key) => isWithin(key) && filter.admitsName(key),
    mayHold: (above) => meets(folder, above) && filter.mayHold(above),
  };
}

/** Filter of a source. Throws StepError (`invalid`) for a pattern that cannot be used. */
export function pathFilter(spec: FilterSpec): PathFilter {
  const include = (spec.include ?? []).map((pattern) => normalise(pattern, 'include'));
  const isIncluded = include.length === 0 ? () => true : matcher(include);
  const isExcluded = matcher((spec.exclude ?? []).map((pattern) => normalise(pattern, 'exclude')));
  const bases = include.length === 0 ? [''] : include.map(baseOf);
  const mayHold: Matcher = (folder) => !isExcluded(folder) && bases.some((base) => meets(base, folder));
  const admitsName: Matcher = (key) => !isExcluded(key) && isIncluded(key);
  const isOpen = remembered((folder) => foldersOf(folder).every((above) => !isExcluded(above)));
  return {
    mayHold,
    admitsName,
    admitsFile: (key) => admitsName(key) && isOpen(key.slice(0, key.lastIndexOf('/') + 1)),
  };
}

/** Folders above a key, outermost first: `a/b/c` gives `a` and `a/b`. */
export function foldersOf(key: string): string[] {
  const folders: string[] = [];
  for (let at = key.indexOf('/'); at >= 0; at = key.indexOf('/', at + 1)) folders.push(key.slice(0, at));
  return folders;
}

/** Keys come folder by folder, so the last answer is mostly the next one. */
function remembered(match: Matcher): Matcher {
  let last: string | undefined;
  let answer = false;
  return (path) => {
    if (path !== last) answer = match(path);
    last = path;
    return answer;
  };
}

function matcher(patterns: readonly string[]): Matcher {
  if (patterns.length === 0) return () => false;
  return picomatch([...patterns], OPTIONS);
}

function normalise(pattern: string, field: 'include' | 'exclude'): string {
  const path = pattern.replace(/^(\.?\/)+/, '');
  if (path === '' || path.startsWith('!')) throw unusable(pattern, field);
  return path.endsWith('/') ? `${path}**` : path;
}

function unusable(pattern: string, field: string): StepError {
  const other = field === 'include' ? 'exclude' : 'include';
  const hint = pattern.startsWith('!')
    ? `put what it names into ${other} instead`
    : 'write a path below the root, such as docs/**';
  return new StepError('invalid', `${field}: the pattern ${JSON.stringify(pattern)} cannot be used; ${hint}`);
}

/** The part of a pattern before its first wildcard: everything that it matches lies at or below it. */
function baseOf(pattern: string): string {
  return picomatch.scan(pattern).base.replace(/\/$/, '');
}

/** Whether something can lie both at or below `base` and below `folder`. */
function meets(base: string, folder: string): boolean {
  return base === '' || base === folder || base.startsWith(`${folder}/`) || folder.startsWith(`${base}/`);
}
