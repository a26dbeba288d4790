// Component paths. A path is the list of keys from the root to the component, joined by `/`; inside a key, `/` and `%`
// are written `%2F` and `%25`, so that any key round-trips and a prefix test is a subtree test.
import type { ComponentPath } from './messages.ts';

/** By hand: this is done several times for each item of a listing, and `replaceAll` takes twice as long. */
function escapeKey(key: string): string {
  const plain = key.includes('%') ? key.replaceAll('%', '%25') : key;
  let at = plain.indexOf('/');
  if (at < 0) return plain;
  let escaped = '';
  let from = 0;
  for (; at >= 0; at = plain.indexOf('/', from)) {
    escaped += `${plain.slice(from, at)}%2F`;
    from = at + 1;
  }
  return escaped + plain.slice(from);
}

/** The key that a part of a path stands for. */
export function unescapeKey(part: string): string {
  return part.includes('%') ? part.replaceAll('%2F', '/').replaceAll('%25', '%') : part;
}

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
