// From positions in a string to places in a file: byte and line ranges, in one pass over the text.

/** Numbers per chunk: start, end (characters), startByte, endByte, startLine, endLine. */
export const CHUNK_FIELDS = 6;

/** Places of chunks whose starts and whose ends are in order. `ranges` holds start and end alternating. */
export function locate(text: string, ranges: readonly number[]): Float64Array<ArrayBuffer> {
  const places = new Float64Array((ranges.length / 2) * CHUNK_FIELDS);
  const isAscii = Buffer.byteLength(text) === text.length;
  const starts = new Ruler(text, isAscii);
  const ends = new Ruler(text, isAscii);
  for (let i = 0, out = 0; i < ranges.length; i += 2, out += CHUNK_FIELDS) {
    const start = ranges[i]!;
    const end = ranges[i + 1]!;
    starts.moveTo(start);
    places[out] = start;
    places[out + 1] = end;
    places[out + 2] = starts.bytes;
    places[out + 4] = starts.line;
    // The last character's line: a line break that ends the chunk does not begin a line of it.
    ends.moveTo(end - 1);
    places[out + 5] = ends.line;
    ends.moveTo(end);
    places[out + 3] = ends.bytes;
  }
  return places;
}

/** Moves forward through a text, counting UTF-8 bytes and lines. */
class Ruler {
  readonly #text: string;
  readonly #isAscii: boolean;
  #at = 0;
  #nextBreak: number;
  bytes = 0;
  /** From 1. */
  line = 1;

  constructor(text: string, isAscii: boolean) {
    this.#text = text;
    this.#isAscii = isAscii;
    this.#nextBreak = breakFrom(text, 0);
  }

  moveTo(position: number): void {
    while (this.#nextBreak < position) {
      this.line++;
      this.#nextBreak = breakFrom(this.#text, this.#nextBreak + 1);
    }
    this.bytes += this.#isAscii ? position - this.#at : byteLength(this.#text, this.#at, position);
    this.#at = position;
  }
}

const breakFrom = (text: string, from: number): number => {
  const at = text.indexOf('\n', from);
  return at < 0 ? Number.POSITIVE_INFINITY : at;
};

/** UTF-8 bytes of a part; each half of a surrogate pair counts two, so that a part may end between them. */
function byteLength(text: string, from: number, to: number): number {
  let bytes = 0;
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) bytes += 1;
    else if (code < 0x800 || (code >= 0xd800 && code <= 0xdfff)) bytes += 2;
    else bytes += 3;
  }
  return bytes;
}
