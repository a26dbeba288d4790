// Component paths. A path is the list of keys from the root to the component, joined by `/`; inside a key, `/` and `%`
// are written `%2F` and `%25`, so that any key round-trips and a prefix test is a subtree test.
import type { ComponentPath } from './messages.ts';

/** Most keys hold at most one of the two, and looking costs less than replacing. */
function escapeKey(key: string): string {
  const escaped = key.includes('%') ? key.replaceAll('%', '%25') : key;
  return escaped.includes('/') ? escaped.replaceAll('/', '%2F') : escaped;
}

const unescapeKey = (key: string): string =>
  key.includes('%') ? key.replaceAll('%2F', '/').replaceAll('%25', '%') : key;

/** Path of the child `key` of `parent`; the root's parent is the empty string. */
export function childPath(parent: ComponentPath, key: string): ComponentPath {
  return parent === '' ? escapeKey(key) : `${parent}/${escapeKey(key)}`;
}

/** Path of an item of a LiveSource. */
export function itemPath(source: string, key: string): ComponentPath {
  return `${escapeKey(source)}/${escapeKey(key)}`;
}

/** The keys of a path, root first. */
export function pathKeys(path: ComponentPath): string[] {
  return path === '' ? [] : path.split('/').map(unescapeKey);
}

/** Whether `path` lies strictly below `ancestor`. */
export function isBelow(path: ComponentPath, ancestor: ComponentPath): boolean {
  return ancestor === '' ? path !== '' : path.startsWith(`${ancestor}/`);
}
