// How many texts a server takes at once, learnt from its refusals: half after each, twice after a while without one.
// Without it every batch of a server with a small bound would be refused again, down to that bound.

/** Full batches that pass before a larger one is tried; four times as many after each try that was in vain. */
const PATIENCE_FIRST = 16;
const PATIENCE_MOST = 4096;

export class BatchSize {
  readonly #max: number;
  #limit: number;
  #passed = 0;
  #patience = PATIENCE_FIRST;

  constructor(max: number) {
    this.#max = max;
    this.#limit = max;
  }

  get limit(): number {
    return this.#limit;
  }

  /** A batch of so many texts was too large, or took too long. */
  refused(size: number): void {
    const half = Math.max(1, Math.ceil(size / 2));
    // Batches that were under way when the limit fell say nothing new.
    if (half >= this.#limit) return;
    this.#limit = half;
    this.#passed = 0;
    this.#patience = Math.min(PATIENCE_MOST, this.#patience * 4);
  }

  passed(size: number): void {
    if (size < this.#limit || this.#limit === this.#max || ++this.#passed < this.#patience) return;
    this.#passed = 0;
    this.#limit = Math.min(this.#max, this.#limit * 2);
  }
}
