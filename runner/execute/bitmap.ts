// A set of small, dense numbers: one bit each. A million items that a listing saw take 125 kB.

export class Bitmap {
  #words = new Uint32Array(1024);
  #size = 0;

  /** How many numbers are in the set. */
  get size(): number {
    return this.#size;
  }

  /** Adds a number; answers whether it is new. */
  add(value: number): boolean {
    const index = value >>> 5;
    if (index >= this.#words.length) this.#grow(index);
    const bit = 1 << (value & 31);
    const word = this.#words[index] ?? 0;
    if ((word & bit) !== 0) return false;
    this.#words[index] = word | bit;
    this.#size += 1;
    return true;
  }

  has(value: number): boolean {
    return ((this.#words[value >>> 5] ?? 0) & (1 << (value & 31))) !== 0;
  }

  #grow(index: number): void {
    const grown = new Uint32Array(Math.max(index + 1, this.#words.length * 2));
    grown.set(this.#words);
    this.#words = grown;
  }
}
