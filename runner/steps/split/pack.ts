// Packing: fills chunks up to their size and cuts each at the best boundary, whatever made the boundaries.
//   C1. A chunk has at most `chunkSize` characters (two where that cuts a surrogate pair).
//   C2. Every character that is not white space lies in a chunk.
//   C3. Chunks start and end in order; a chunk repeats at most `overlap` characters of its predecessor.
//   C4. No cut lies inside a surrogate pair.
//   C5. Equal input gives equal chunks.
import type { Boundaries } from './boundaries.ts';
import { lineCut, overlapStart } from './cut.ts';

export interface PackOptions {
  readonly chunkSize: number;
  readonly overlap: number;
  /** A boundary of this rank or better ends a chunk that holds at least a quarter of its size, and nothing is repeated after it. */
  readonly eagerRank?: number;
}

/** Start and end of each chunk, alternating. */
export function pack(text: string, boundaries: Boundaries, options: PackOptions): number[] {
  return new Packer(text, boundaries, options).run();
}

class Packer {
  readonly #text: string;
  readonly #boundaries: Boundaries;
  readonly #options: PackOptions;
  readonly #ranges: number[] = [];
  /** First boundary after what is covered. */
  #next = 0;

  constructor(text: string, boundaries: Boundaries, options: PackOptions) {
    this.#text = text;
    this.#boundaries = boundaries;
    this.#options = options;
  }

  run(): number[] {
    let covered = 0;
    let repeatFrom = 0;
    for (;;) {
      const fresh = nextNonBlank(this.#text, covered);
      if (fresh < 0) return this.#ranges;
      const start = this.#start(fresh, covered, repeatFrom);
      const cut = this.#cut(start, fresh);
      this.#ranges.push(start, trimmedEnd(this.#text, cut));
      covered = cut;
      // A chunk that would be repeated as a whole is not repeated at all.
      repeatFrom = this.#isEager(cut) || cut - start <= this.#options.overlap ? cut : start;
    }
  }

  /** Where a chunk begins whose first new character is `fresh`: some lines earlier, or at its line's indentation. */
  #start(fresh: number, covered: number, repeatFrom: number): number {
    const from = Math.max(repeatFrom, fresh - this.#options.overlap);
    const repeated = from < covered ? overlapStart(this.#text, from, fresh) : fresh;
    const first = nextNonBlank(this.#text, repeated);
    const start = lineStart(this.#text, first, first === fresh ? covered : repeated);
    return fresh - start < this.#options.chunkSize - 1 ? start : fresh;
  }

  #cut(start: number, fresh: number): number {
    const end = Math.min(start + this.#options.chunkSize, this.#text.length);
    while (this.#next < this.#boundaries.length && this.#boundaries.position(this.#next) <= fresh) this.#next++;
    const eager = this.#eagerCut(start, end);
    if (eager !== undefined) return eager;
    if (end === this.#text.length) return end;
    return this.#bestBoundary(start, end) ?? lineCut(this.#text, fresh, start, end);
  }

  #eagerCut(start: number, end: number): number | undefined {
    const { eagerRank, chunkSize } = this.#options;
    if (eagerRank === undefined) return undefined;
    for (let i = this.#next; i < this.#boundaries.length && this.#boundaries.position(i) <= end; i++) {
      const position = this.#boundaries.position(i);
      if (this.#boundaries.rank(i) <= eagerRank && position - start >= chunkSize / 4) return position;
    }
    return undefined;
  }

  /** The best boundary of the second half, the last among equals; else the last one of the first half. */
  #bestBoundary(start: number, end: number): number | undefined {
    const half = start + this.#options.chunkSize / 2;
    let best: number | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    for (let i = this.#next; i < this.#boundaries.length; i++) {
      const position = this.#boundaries.position(i);
      if (position > end) break;
      const rank = position < half ? Number.MAX_SAFE_INTEGER : this.#boundaries.rank(i);
      if (rank <= bestRank) {
        best = position;
        bestRank = rank;
      }
    }
    return best;
  }

  #isEager(cut: number): boolean {
    const { eagerRank } = this.#options;
    if (eagerRank === undefined) return false;
    for (let i = this.#next; i < this.#boundaries.length && this.#boundaries.position(i) <= cut; i++) {
      if (this.#boundaries.position(i) === cut) return this.#boundaries.rank(i) <= eagerRank;
    }
    return false;
  }
}

/** White space as `String.trim` sees it. */
const NON_BLANK = /\S/g;

export function nextNonBlank(text: string, from: number): number {
  // The common case by hand: a regular expression costs more than the few blanks that it skips.
  let at = from;
  for (let code = text.charCodeAt(at); code === 32 || code === 10 || code === 13 || code === 9; ) {
    code = text.charCodeAt(++at);
  }
  if (at >= text.length) return -1;
  if (text.charCodeAt(at) < 128 && text.charCodeAt(at) > 32) return at;
  NON_BLANK.lastIndex = at;
  return NON_BLANK.exec(text)?.index ?? -1;
}

function trimmedEnd(text: string, end: number): number {
  let at = end;
  while (at > 0 && isBlank(text, at - 1)) at--;
  return at;
}

function isBlank(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code === 32 || (code >= 9 && code <= 13)) return true;
  return code >= 128 && text.charAt(at).trim() === '';
}

/** Start of the line of `at` if only blanks stand before it, never before `floor`. */
function lineStart(text: string, at: number, floor: number): number {
  let start = at;
  while (start > floor) {
    const code = text.charCodeAt(start - 1);
    if (code !== 32 && code !== 9) break;
    start--;
  }
  return start;
}
