// The model of the embedder `local`: a table of words, each with a vector that already carries the word's weight. A text's
// vector is the sum over its words. It was distilled from a sentence encoder (scripts/local-model), so words of like
// meaning lie near each other; the order of words does not count.
//
// The file: "FLSM", then as little-endian 32-bit numbers its version, words, dimensions and the bytes of the word list;
// the words, one a line, padded with line breaks; a float32 scale per word; an int8 row per word.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { forEachWord } from './tokens.ts';

export const STATIC_MODEL = 'static-en-256';
/** Raise it with the file, or when a text gives other words. */
export const STATIC_MODEL_VERSION = 1;
export const STATIC_MODEL_DIMENSIONS = 256;

const HEADER_BYTES = 20;
/** Longer words are no language: hashes, base64. */
const WORD_LENGTH_MAX = 40;
/** Words whose pieces were looked up are kept up to this number; code repeats its words. */
const KNOWN_WORDS_MAX = 50_000;

/** Where the file is: beside the source, or beside a bundle. */
const modelFile = (): string => fileURLToPath(new URL(`./models/${STATIC_MODEL}.bin`, import.meta.url));

export class StaticModel {
  readonly dimensions: number;
  readonly #index: ReadonlyMap<string, number>;
  readonly #scales: Float32Array;
  readonly #rows: Int8Array;
  readonly #known = new Map<string, readonly number[]>();
  readonly #counts: Uint16Array;

  /** Reads the form that the file header says; throws for another one. */
  constructor(file: Uint8Array<ArrayBuffer>) {
    const header = new DataView(file.buffer, file.byteOffset, HEADER_BYTES);
    const magic = Buffer.from(file.buffer, file.byteOffset, 4).toString('latin1');
    const count = header.getUint32(8, true);
    this.dimensions = header.getUint32(12, true);
    const scalesAt = HEADER_BYTES + header.getUint32(16, true);
    const rowsAt = scalesAt + count * 4;
    if (magic !== 'FLSM' || header.getUint32(4, true) !== 1 || file.length !== rowsAt + count * this.dimensions) {
      throw new Error('the file of the local model is not what it should be: install Fairlead anew');
    }
    const words = Buffer.from(file.subarray(HEADER_BYTES, scalesAt)).toString('utf8').trimEnd().split('\n');
    this.#index = new Map(words.map((word, i) => [word, i]));
    this.#scales = new Float32Array(file.slice(scalesAt, rowsAt).buffer);
    this.#rows = new Int8Array(file.buffer, file.byteOffset + rowsAt, count * this.dimensions);
    this.#counts = new Uint16Array(count);
  }

  static async load(): Promise<StaticModel> {
    return new StaticModel(new Uint8Array(await readFile(modelFile())));
  }

  /** Writes the unit vector of a text at `offset` of `out`; zero for a text without a known word. */
  embed(text: string, out: Float32Array, offset: number): void {
    const seen = this.#count(text);
    const vector = out.subarray(offset, offset + this.dimensions);
    for (const row of seen) {
      // How often a word stands in a text matters less than that it does.
      this.#add(row, this.#scales[row]! * (1 + Math.log(this.#counts[row]!)), vector);
      this.#counts[row] = 0;
    }
    normalise(vector);
  }

  #count(text: string): readonly number[] {
    const seen: number[] = [];
    const add = (row: number) => {
      if (this.#counts[row] === 0) seen.push(row);
      if (this.#counts[row]! < 65_535) this.#counts[row]!++;
    };
    forEachWord(text, {
      word: (start, end) => {
        if (end - start <= WORD_LENGTH_MAX) this.#rowsOf(text.slice(start, end).toLowerCase()).forEach(add);
      },
      identifier: () => undefined,
    });
    return seen;
  }

  #add(row: number, scale: number, vector: Float32Array): void {
    const rows = this.#rows;
    const { length } = vector;
    for (let i = 0, at = row * length; i < length; i++, at++) vector[i]! += rows[at]! * scale;
  }

  /** Rows of a word: its own, else those of its longest pieces from the left; none where a piece is unknown. */
  #rowsOf(word: string): readonly number[] {
    const known = this.#known.get(word);
    if (known !== undefined) return known;
    const rows = this.#lookUp(word);
    if (this.#known.size >= KNOWN_WORDS_MAX) this.#known.clear();
    this.#known.set(word, rows);
    return rows;
  }

  #lookUp(word: string): readonly number[] {
    const rows: number[] = [];
    for (let start = 0; start < word.length; ) {
      let end = word.length;
      let row: number | undefined;
      for (; end > start && row === undefined; end--) {
        row = this.#index.get(start === 0 ? word.slice(0, end) : `##${word.slice(start, end)}`);
      }
      if (row === undefined) return [];
      rows.push(row);
      start = end + 1;
    }
    return rows;
  }
}

function normalise(vector: Float32Array): void {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares === 0) return;
  const scale = 1 / Math.sqrt(squares);
  for (let i = 0; i < vector.length; i++) vector[i]! *= scale;
}
