// Questions about a Pipeline's state and targets, which only its runners reach. A question is the input of a root run of kind `pipeline`, and its answer
// the run's value: so it waits for a slot and for a runner as all work does, and goes to another runner when its own is lost.
//   Q1. A runner whose version does not know the question does an update of the Pipeline instead, which harms nothing, and answers nothing.

export type Question =
  /** Compares the state with the targets, both ways: `Verified`. */
  | { readonly ask: 'verify' }
  /** Mends what differs, and compares again: `Repaired`. */
  | { readonly ask: 'repair' }
  /** Items that are quarantined or failed, a page after this place: `TroubledPage`. */
  | { readonly ask: 'troubled'; readonly after: TroubledPlace };

/** A row that only one side knows. `missing`: the target lacks it. `surplus`: the state does not know it. */
export type Difference = {
  readonly target: string;
  readonly kind: 'missing' | 'surplus';
  readonly row: string;
  readonly owner: string;
  readonly source: string;
  readonly key: string;
};

export type Verified = {
  /** That the state records, in all targets. */
  readonly rows: number;
  readonly missing: number;
  readonly surplus: number;
  /** The first ones; the rest is counted. */
  readonly differences: readonly Difference[];
};

/** What is left. */
export type Repaired = Verified & {
  /** Components that were mended. */
  readonly repaired: number;
};

export type TroubledItem = {
  readonly source: string;
  readonly key: string;
  readonly status: 'quarantined' | 'failed';
  readonly failures: number;
  readonly losses: number;
  readonly error: string;
};

/** Quarantined items come before failed ones, those of each status by id. */
export type TroubledPlace = { readonly status: TroubledItem['status']; readonly id: number };

export const FIRST_TROUBLED: TroubledPlace = { status: 'quarantined', id: 0 };

export type TroubledPage = {
  readonly items: readonly TroubledItem[];
  /** Absent: there are no more. */
  readonly next?: TroubledPlace;
};

/** What an answer lists takes about so many bytes of JSON at most. */
export const ANSWER_MAX_BYTES = 192 * 1024;
