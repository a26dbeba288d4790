// Paths as the stores keep them: the parent's path and the last segment, both escaped as in the path.
import { childPath, itemPath, unescapeKey } from '../protocol/index.ts';

export interface SplitPath {
  readonly parent: string;
  /** Last segment, escaped as in the path, so that its order is that of the paths. */
  readonly segment: string;
}

export function splitPath(path: string): SplitPath {
  const at = path.lastIndexOf('/');
  return at < 0 ? { parent: '', segment: path } : { parent: path.slice(0, at), segment: path.slice(at + 1) };
}

export function joinPath(parent: string, segment: string): string {
  return parent === '' ? segment : `${parent}/${segment}`;
}

/** Path below which a source's items are. */
export const sourcePath = (source: string): string => childPath('', source);

/** Source whose items are below this path. */
export const sourceAt = (path: string): string => unescapeKey(path);

/** Last segment of the path of an item with this key. */
export const keySegment = (key: string): string => childPath('', key);

/** Key that a segment stands for. */
export const segmentKey = (segment: string): string => unescapeKey(segment);

export const splitItem = (source: string, key: string): SplitPath => splitPath(itemPath(source, key));
