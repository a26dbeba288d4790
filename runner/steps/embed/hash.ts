// The embedder `hash`: words hashed onto the dimensions of a vector, weighted by how much a word tells. Deterministic,
// the same on every machine; no model, no network. It finds shared words, not meaning.
import { forEachWord, type WordSink } from './tokens.ts';

/** Raise it when equal text gives another vector. */
export const HASH_VERSION = 'hash/1';

/** Words of nearly every text and keywords of nearly every program: they tell little. */
const COMMON_WORDS = `the of and to in is it that this for on as are be with by or an at from not if so we you your can will was
were has have had do does did but no than then them they their there these those which what when where how who why its into out up only all any each
also may must should would could one two more most other some such new use used using one about over same very just like
function return const let var import export from class public private protected static void int string bool boolean true false null undefined
this self def async await type interface extends implements else elif case break continue while try catch finally throw throws raise except
package func struct impl pub fn mut match enum include define ifdef endif end begin module require default readonly number object value`;

const WEIGHT_COMMON = 0.15;
/** Weights by length of a word: short ones are mostly noise. */
const WEIGHT_BY_LENGTH = [0, 0.15, 0.45, 0.8, 0.95, 1, 1.05, 1.1, 1.15, 1.2];
const WEIGHT_NUMBER = 0.4;
const WEIGHT_IDENTIFIER = 0.6;

const FNV_OFFSET = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** Slots of the table that counts a text's features; a power of two. */
const TABLE_SLOTS = 8192;

/** ASCII in lower case. */
const LOWER = Uint8Array.from({ length: 128 }, (_, code) => (code >= 65 && code <= 90 ? code | 32 : code));

const common = new Set(COMMON_WORDS.split(/\s+/).map(hashOf));

/** Unit vector of a text; all zero for a text without words. */
export class HashEmbedder {
  readonly #dimensions: number;
  readonly #features = new FeatureTable();

  constructor(dimensions: number) {
    this.#dimensions = dimensions;
  }

  /** Writes the vector at `offset` of `out`. */
  embed(text: string, out: Float32Array, offset: number): void {
    this.#features.clear();
    collectFeatures(text, this.#features);
    const vector = out.subarray(offset, offset + this.#dimensions);
    this.#features.addTo(vector);
    normalise(vector);
  }
}

/** Vectors of texts, one behind the other. */
export function hashTexts(texts: readonly string[], dimensions: number): Float32Array<ArrayBuffer> {
  const embedder = new HashEmbedder(dimensions);
  const out = new Float32Array(texts.length * dimensions);
  for (let i = 0; i < texts.length; i++) embedder.embed(texts[i]!, out, i * dimensions);
  return out;
}

function collectFeatures(text: string, features: FeatureTable): void {
  const sink: WordSink = {
    word(start, end) {
      const hash = stemHash(text, start, end);
      features.add(hash, common.has(hash) ? WEIGHT_COMMON : weightOf(text, start, end));
    },
    identifier(start, end) {
      features.add(rangeHash(text, start, end), WEIGHT_IDENTIFIER);
    },
  };
  forEachWord(text, sink);
}

function weightOf(text: string, start: number, end: number): number {
  const first = text.charCodeAt(start);
  if (first >= 48 && first <= 57) return WEIGHT_NUMBER;
  return WEIGHT_BY_LENGTH[Math.min(end - start, WEIGHT_BY_LENGTH.length - 1)]!;
}

/** Counts of features by hash. */
class FeatureTable {
  readonly #hashes = new Int32Array(TABLE_SLOTS);
  readonly #counts = new Int32Array(TABLE_SLOTS);
  readonly #weights = new Float32Array(TABLE_SLOTS);
  readonly #used: number[] = [];

  clear(): void {
    for (const slot of this.#used) this.#hashes[slot] = 0;
    this.#used.length = 0;
  }

  /** A table that is nearly full forgets further new features: a text of that many words has no shape left to lose. */
  add(feature: number, weight: number): void {
    const hash = feature === 0 ? 1 : feature;
    let slot = mix(hash) & (TABLE_SLOTS - 1);
    while (this.#hashes[slot] !== 0) {
      if (this.#hashes[slot] === hash) {
        this.#counts[slot]!++;
        return;
      }
      slot = (slot + 1) & (TABLE_SLOTS - 1);
    }
    if (this.#used.length >= TABLE_SLOTS / 2) return;
    this.#hashes[slot] = hash;
    this.#counts[slot] = 1;
    this.#weights[slot] = weight;
    this.#used.push(slot);
  }

  /** Adds each feature to one dimension, with a sign of its hash, so that collisions cancel out on average. */
  addTo(vector: Float32Array): void {
    for (const slot of this.#used) {
      const mixed = mix(this.#hashes[slot]!);
      const count = this.#counts[slot]!;
      const weight = this.#weights[slot]! * (count === 1 ? 1 : 1 + Math.log(count));
      const dimension = (mixed >>> 1) % vector.length;
      vector[dimension]! += (mixed & 1) === 0 ? weight : -weight;
    }
  }
}

function normalise(vector: Float32Array): void {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares === 0) return;
  const scale = 1 / Math.sqrt(squares);
  for (let i = 0; i < vector.length; i++) vector[i]! *= scale;
}

/** Hash of a word without the ending that plural and tense put on it. */
function stemHash(text: string, start: number, end: number): number {
  return rangeHash(text, start, stemEnd(text, start, end));
}

function stemEnd(text: string, start: number, end: number): number {
  const length = end - start;
  const last = text.charCodeAt(end - 1) | 32;
  const beforeLast = text.charCodeAt(end - 2) | 32;
  if (length > 3 && last === 115 && beforeLast !== 115 && beforeLast !== 117 && beforeLast !== 105) {
    return stemEnd(text, start, end - 1); // s, not ss, us, is
  }
  if (length > 4 && last === 100 && beforeLast === 101) return end - 2; // ed
  if (length > 5 && last === 103 && beforeLast === 110 && (text.charCodeAt(end - 3) | 32) === 105) return end - 3; // ing
  if (length > 3 && last === 101) return end - 1; // e
  return end;
}

/** FNV-1a over lower-cased code units; underscores do not count. */
function rangeHash(text: string, start: number, end: number): number {
  let hash = FNV_OFFSET;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === 95) continue;
    hash = Math.imul(hash ^ (code < 128 ? LOWER[code]! : lowerCode(code)), FNV_PRIME);
  }
  return hash;
}

const lowerCode = (code: number): number => String.fromCharCode(code).toLowerCase().charCodeAt(0);

function hashOf(word: string): number {
  return stemHash(word, 0, word.length);
}

/** Finaliser of MurmurHash3: every bit of the input moves every bit of the output. */
function mix(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
