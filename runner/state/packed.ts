// How the stores keep a map from target name to packed rows as one value: for each target the length of its name (2 bytes), the name,
// the length of its rows (4 bytes), the rows; big-endian. An empty map is no value at all (null).

export type RowsByTarget = ReadonlyMap<string, Uint8Array>;

const NAME_HEAD = 2;
const ROWS_HEAD = 4;

/** One value for the map; null for an empty one. */
export function packRows(rows: RowsByTarget): Uint8Array | null {
  const parts: Buffer[] = [];
  for (const [target, bytes] of rows) {
    const name = Buffer.from(target, 'utf8');
    const head = Buffer.alloc(NAME_HEAD + name.length + ROWS_HEAD);
    head.writeUInt16BE(name.length);
    name.copy(head, NAME_HEAD);
    head.writeUInt32BE(bytes.byteLength, NAME_HEAD + name.length);
    parts.push(head, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }
  return parts.length === 0 ? null : Buffer.concat(parts);
}

/** The map that `packRows` packed. */
export function unpackRows(value: Uint8Array | null | undefined): Map<string, Uint8Array> {
  const rows = new Map<string, Uint8Array>();
  if (value === null || value === undefined) return rows;
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  for (let at = 0; at < bytes.length; ) {
    const nameEnd = at + NAME_HEAD + bytes.readUInt16BE(at);
    const rowsStart = nameEnd + ROWS_HEAD;
    const rowsEnd = rowsStart + bytes.readUInt32BE(nameEnd);
    rows.set(bytes.toString('utf8', at + NAME_HEAD, nameEnd), new Uint8Array(bytes.subarray(rowsStart, rowsEnd)));
    at = rowsEnd;
  }
  return rows;
}

/** Every packed list by target, in the order of the values. */
export function gatherRows(values: readonly Uint8Array[]): Map<string, Uint8Array[]> {
  const gathered = new Map<string, Uint8Array[]>();
  for (const value of values) {
    for (const [target, rows] of unpackRows(value)) gathered.set(target, [...(gathered.get(target) ?? []), rows]);
  }
  return gathered;
}
