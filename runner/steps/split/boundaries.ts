// Where a text may be cut, best places first: a growing list of positions with ranks.

/** Positions in ascending order, each with a rank; a lower rank is a better place to cut. */
export class Boundaries {
  #positions = new Int32Array(256);
  #ranks = new Int32Array(256);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  position(index: number): number {
    return this.#positions[index]!;
  }

  rank(index: number): number {
    return this.#ranks[index]!;
  }

  /** Adds a position that is not before the last one; of two ranks for one place the better stays. */
  add(position: number, rank: number): void {
    const last = this.#length - 1;
    if (last >= 0 && this.#positions[last] === position) {
      if (rank < this.#ranks[last]!) this.#ranks[last] = rank;
      return;
    }
    if (this.#length === this.#positions.length) this.#grow();
    this.#positions[this.#length] = position;
    this.#ranks[this.#length] = rank;
    this.#length++;
  }

  #grow(): void {
    const positions = new Int32Array(this.#length * 2);
    const ranks = new Int32Array(this.#length * 2);
    positions.set(this.#positions);
    ranks.set(this.#ranks);
    this.#positions = positions;
    this.#ranks = ranks;
  }
}
