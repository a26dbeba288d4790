// How fast something goes, from what was seen lately, and how long the rest will take.

const WINDOW_MS = 10_000;
/** Fewer observations than this say too little about the time left. */
const SAMPLES_MIN = 10;
const SAMPLES_MAX = 200;

interface Sample {
  readonly atMs: number;
  readonly done: number;
}

export class Rate {
  readonly #samples: Sample[] = [];
  #seen = 0;

  /** Notes how much is done by now. */
  add(atMs: number, done: number): void {
    this.#seen++;
    this.#samples.push({ atMs, done });
    while (
      this.#samples.length > 2 &&
      (this.#samples[0]!.atMs < atMs - WINDOW_MS || this.#samples.length > SAMPLES_MAX)
    )
      this.#samples.shift();
  }

  /** Items a second over the window; undefined before anything moved. */
  perSecond(): number | undefined {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.atMs === first.atMs || last.done <= first.done)
      return undefined;
    return ((last.done - first.done) * 1_000) / (last.atMs - first.atMs);
  }

  /** Milliseconds that `left` more items will take; undefined while there is too little to go by. */
  leftMs(left: number): number | undefined {
    const perSecond = this.perSecond();
    return this.#seen < SAMPLES_MIN || perSecond === undefined ? undefined : (left * 1_000) / perSecond;
  }
}
