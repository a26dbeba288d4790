// Columns: numbers of many messages in one run of bytes, strings of many messages in one text. Encoding thousands of small messages as
// columns costs a tenth of encoding them as messages (docs/decisions).

const FIRST_CAPACITY = 64;

/** Numbers of one width, little-endian, growing as needed. */
abstract class Column {
  protected view = new DataView(new ArrayBuffer(FIRST_CAPACITY * 8));
  protected used = 0;
  protected abstract readonly width: number;

  get length(): number {
    return this.used / this.width;
  }

  /** The column's bytes; the column is empty afterwards. */
  take(): Uint8Array {
    const bytes = new Uint8Array(this.view.buffer.slice(0, this.used));
    this.used = 0;
    return bytes;
  }

  protected reserve(): number {
    const at = this.used;
    this.used += this.width;
    if (this.used > this.view.byteLength) this.#grow();
    return at;
  }

  #grow(): void {
    const bigger = new Uint8Array(this.view.byteLength * 2);
    bigger.set(new Uint8Array(this.view.buffer));
    this.view = new DataView(bigger.buffer);
  }
}

export class DoubleColumn extends Column {
  protected readonly width = 8;

  push(value: number): void {
    const at = this.reserve();
    this.view.setFloat64(at, value, true);
  }
}

/** Whole numbers from 0 to 2^32 − 1. */
export class WordColumn extends Column {
  protected readonly width = 4;

  push(value: number): void {
    const at = this.reserve();
    this.view.setUint32(at, value, true);
  }
}

export class ByteColumn extends Column {
  protected readonly width = 1;

  push(value: number): void {
    const at = this.reserve();
    this.view.setUint8(at, value);
  }
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Reads a column of doubles. Reading past its end throws a RangeError: the message is malformed. */
export class DoubleReader {
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#view = viewOf(bytes);
  }

  next(): number {
    const value = this.#view.getFloat64(this.#at, true);
    this.#at += 8;
    return value;
  }
}

export class WordReader {
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#view = viewOf(bytes);
  }

  next(): number {
    const value = this.#view.getUint32(this.#at, true);
    this.#at += 4;
    return value;
  }
}

export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length;
  }

  next(): number {
    const value = this.#bytes[this.#at++];
    if (value === undefined) throw new RangeError('a column of the link is shorter than its messages');
    return value;
  }
}

// ---- texts ---------------------------------------------------------------------------------------------------------

/** Texts of many messages: one text, and how long each of them is. */
export interface Texts {
  readonly text: string;
  readonly lengthsU32: Uint8Array;
}

export class TextColumn {
  #texts: string[] = [];
  readonly #lengths = new WordColumn();

  push(text: string): void {
    this.#texts.push(text);
    this.#lengths.push(text.length);
  }

  take(): Texts {
    const text = this.#texts.join('');
    this.#texts = [];
    return { text, lengthsU32: this.#lengths.take() };
  }
}

/** Reading past the end throws a RangeError. */
export class TextReader {
  readonly #text: string;
  readonly #lengths: WordReader;
  #at = 0;

  constructor(texts: Texts | undefined) {
    this.#text = texts?.text ?? '';
    this.#lengths = new WordReader(texts?.lengthsU32 ?? new Uint8Array());
  }

  next(): string {
    const from = this.#at;
    this.#at += this.#lengths.next();
    if (this.#at > this.#text.length) throw new RangeError('a column of texts is shorter than its messages');
    return this.#text.slice(from, this.#at);
  }
}
