// Builders for the tests of targets.
import type { RowChange, TargetRow } from '../../runner/execute/index.ts';
import { itemPath } from '../../runner/protocol/index.ts';
import type { Element } from '../../runner/sdk/index.ts';
import { hexId } from '../state/build.ts';

export { hexId } from '../state/build.ts';

export const DIMENSIONS = 4;

/** A vector that points mostly along one axis. */
export function along(axis: number, tilt = 0): Float32Array {
  const vector = new Float32Array(DIMENSIONS);
  vector[axis] = 1;
  vector[(axis + 1) % DIMENSIONS] = tilt;
  return vector;
}

export function row(id: number, key: string, text: string, element: Partial<Element> = {}): TargetRow {
  return {
    id: hexId(id),
    owner: itemPath('docs', key),
    source: 'docs',
    key,
    element: {
      text,
      place: { startByte: 0, endByte: text.length, startLine: 1, endLine: 1 },
      vector: along(id % DIMENSIONS),
      vectorKey: hexId(1_000_000 + id),
      ...element,
    },
  };
}

export function change(key: string, over: Partial<RowChange>): RowChange {
  return { owner: itemPath('docs', key), upserts: [], touches: [], deletes: [], ...over };
}

/** The change that writes these rows of one item. */
export const written = (...rows: TargetRow[]): RowChange => change(rows[0]!.key, { upserts: rows });
