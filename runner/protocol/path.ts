// Component paths. A path is the list of keys from the root to the component, joined by `/`; inside a key, `/` and `%`
// are written `%2F` and `%25`, so that any key round-trips and a prefix test is a subtree test.
import type { ComponentPath } from './messages.ts';

const escapeKey = (key: string): string => key.replaceAll('%', '%25').replaceAll('/', '%2F');
const unescapeKey = (key: string): string => key.replaceAll('%2F', '/').replaceAll('%25', '%');

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
