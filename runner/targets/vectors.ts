// Vectors on their way into a target and out of it.
import type { RowChange, TargetRow } from '../execute/index.ts';
import { StepError } from '../sdk/index.ts';

export type Metric = 'cosine' | 'l2' | 'dot';

/** Column of vectors that a target has. */
export interface VectorColumn {
  readonly dimensions: number;
  readonly metric: Metric;
}

/** Throws unless every row that is to be written has a vector of the declared width, all of it finite (F27). Nothing is written before. */
export function checkVectors(target: string, column: VectorColumn | undefined, changes: readonly RowChange[]): void {
  if (column === undefined) return;
  for (const change of changes) {
    for (const row of change.upserts) checkVector(target, column, row, row.element.vector);
    for (const row of change.touches) {
      if (row.element.vector !== undefined) checkVector(target, column, row, row.element.vector);
    }
  }
}

/** The same for a target that stores vectors of any width, or none. */
export function checkFinite(target: string, changes: readonly RowChange[]): void {
  for (const row of changes.flatMap(({ upserts, touches }) => [...upserts, ...touches])) {
    if (row.element.vector !== undefined && !isAllFinite(row.element.vector)) throw refusal(target, row, NOT_FINITE);
  }
}

const NOT_FINITE = 'has a vector that holds NaN or infinity: the model is broken';

const refusal = (target: string, { source, key }: TargetRow, problem: string): StepError =>
  new StepError('invalid', `target ${target}: a row of ${source}/${key} ${problem}`);

function checkVector(target: string, column: VectorColumn, row: TargetRow, vector: Float32Array | undefined): void {
  const problem = problemOf(column, vector);
  if (problem !== undefined) throw refusal(target, row, problem);
}

function problemOf({ dimensions }: VectorColumn, vector: Float32Array | undefined): string | undefined {
  if (vector === undefined) return `has no vector, and the target stores ${dimensions} dimensions: add an embed step`;
  if (vector.length !== dimensions)
    return `has a vector of ${vector.length} dimensions, and the target stores ${dimensions}: make embed and target agree`;
  return isAllFinite(vector) ? undefined : NOT_FINITE;
}

/** `x - x` is 0 for a finite number and NaN for others: one pass without a call for each number. */
function isAllFinite(vector: Float32Array): boolean {
  let difference = 0;
  for (const x of vector) difference += x - x;
  return difference === 0;
}

export function bytesOf(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** A vector of its bytes, in memory of its own. */
export function vectorOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.slice().buffer);
}
