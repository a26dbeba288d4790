// One row as one line of JSON, its keys always in one order, so that equal rows are equal bytes.
import type { TargetRow } from '../../execute/index.ts';

export function lineOf({ id, owner, source, key, element }: TargetRow, vector: readonly number[] | undefined): string {
  const { text, place, language, fields } = element;
  return JSON.stringify({ id, source, key, owner, text, place: place && placeOf(place), language, fields, vector });
}

type Place = NonNullable<TargetRow['element']['place']>;

const placeOf = ({ startByte, endByte, startLine, endLine }: Place): Place => ({
  startByte,
  endByte,
  startLine,
  endLine,
});

/** The row of a line that looks like one of ours. A file that begins with another one is not overwritten. */
export function rowIn(line: string): Pick<TargetRow, 'id' | 'owner'> | undefined {
  try {
    const { id, owner } = JSON.parse(line) as { id?: unknown; owner?: unknown };
    const isOurs = typeof id === 'string' && /^[0-9a-f]{32}$/.test(id) && typeof owner === 'string';
    return isOurs ? { id, owner } : undefined;
  } catch {
    return undefined;
  }
}
