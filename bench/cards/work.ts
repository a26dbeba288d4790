// What the benchmark of cards asks of a runner, and what it answers.

/** Cards of the runner. */
export const CARDS = 4;

export interface CardWork {
  readonly [name: string]: number;
  /** Calls that are open at once. */
  readonly calls: number;
  /** Share of a card, in thousandths, that each holds. */
  readonly milli: number;
  readonly bodyMs: number;
  readonly forMs: number;
}

export interface CardTime {
  /** From each freed share to the start of the next body on it, as the runner sees both. */
  readonly gapsMs: readonly number[];
  /** Whole cards' time in which bodies ran. */
  readonly busyMs: number;
  readonly bodies: number;
  readonly lastedMs: number;
}
