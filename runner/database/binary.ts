// Arrays in Postgres' binary form, for writing many rows with one statement (`SELECT * FROM unnest($1::text[], …)`). pg sends a Buffer as it
// is, and the cast in the statement says the type. Against arrays as text this spares escaping here and parsing there: vectors above all.

/** Numbers of built-in types; that of `vector` is asked of the database. */
export const TYPE_IDS = { bool: 16, bytea: 17, int8: 20, int4: 23, text: 25, float8: 701, uuid: 2950 } as const;

const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;

/** One dimension, elements in binary form, null for NULL. */
export function binaryArray(typeId: number, elements: readonly (Uint8Array | null)[]): Buffer {
  let size = HEADER_BYTES + elements.length * LENGTH_BYTES;
  for (const element of elements) size += element?.byteLength ?? 0;
  const array = Buffer.allocUnsafe(size);
  array.writeInt32BE(1, 0); // dimensions
  array.writeInt32BE(1, 4); // may hold NULL
  array.writeUInt32BE(typeId, 8);
  array.writeInt32BE(elements.length, 12);
  array.writeInt32BE(1, 16); // index of the first
  let at = HEADER_BYTES;
  for (const element of elements) {
    array.writeInt32BE(element?.byteLength ?? NULL_LENGTH, at);
    at += LENGTH_BYTES;
    if (element === null) continue;
    array.set(element, at);
    at += element.byteLength;
  }
  return array;
}

type Nullable<T> = T | null | undefined;

const fixed = (size: number, write: (buffer: Buffer) => void): Buffer => {
  const buffer = Buffer.allocUnsafe(size);
  write(buffer);
  return buffer;
};

function arrayOf<T>(typeId: number, toBytes: (value: T) => Uint8Array) {
  return (values: readonly Nullable<T>[]): Buffer =>
    binaryArray(
      typeId,
      values.map((value) => (value === null || value === undefined ? null : toBytes(value))),
    );
}

/** A text with a NUL character cannot be stored in Postgres: the character is replaced by U+FFFD. */
export const texts = arrayOf<string>(TYPE_IDS.text, (text) => Buffer.from(text.replaceAll('\0', '\uFFFD'), 'utf8'));
export const bytes = arrayOf<Uint8Array>(TYPE_IDS.bytea, (value) => value);
export const ints = arrayOf<number>(TYPE_IDS.int4, (value) => fixed(4, (buffer) => buffer.writeInt32BE(value)));
export const bigints = arrayOf<number>(TYPE_IDS.int8, (value) =>
  fixed(8, (buffer) => buffer.writeBigInt64BE(BigInt(value))),
);
export const doubles = arrayOf<number>(TYPE_IDS.float8, (value) => fixed(8, (buffer) => buffer.writeDoubleBE(value)));
export const booleans = arrayOf<boolean>(TYPE_IDS.bool, (value) => Buffer.of(value ? 1 : 0));
/** 32 hex digits each. */
export const uuids = arrayOf<string>(TYPE_IDS.uuid, (value) => Buffer.from(value, 'hex'));

/** pgvector's binary form: dimensions (2 bytes), unused (2 bytes), numbers of 4 bytes, big-endian. */
export function vectorBytes(vector: Float32Array): Buffer {
  const buffer = Buffer.allocUnsafe(4 + vector.byteLength);
  buffer.writeInt16BE(vector.length, 0);
  buffer.writeInt16BE(0, 2);
  buffer.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), 4);
  buffer.subarray(4).swap32();
  return buffer;
}
