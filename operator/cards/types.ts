// What callers say to the card ledger and what it answers: data, nothing that can change it.

/** A whole card in thousandths (G1). */
export const WHOLE_CARD = 1000;
/** Most cards that one request can name. */
export const CARDS_MAX = 64;

/** Where a request counts: names from the outermost branch to the update, such as `['docs', 'cycle-7']`. */
export type BranchPath = readonly string[];

export interface ShareRequest {
  /** Runner that the body runs on: a share is of a card there and nowhere else. */
  readonly runner: string;
  readonly branch: BranchPath;
  /** 1 to 1000 for a share of one card; a multiple of 1000 for whole cards of the one runner (G1). */
  readonly milli: number;
}

/**
 * `waiting`: for a card. `held`: granted, until it is released or its runner is proven gone. `ended`: released, withdrawn or gone.
 */
export type ShareState = 'waiting' | 'held' | 'ended';

/** A wish for a card, and once granted the thing to give back. */
export interface Share extends ShareRequest {
  /** Arrival number; later requests have greater ones. */
  readonly number: number;
  readonly state: ShareState;
  /** Indices of its cards on the runner; empty while it waits. */
  readonly cards: readonly number[];
  /** How often a younger request was served on its runner while this one did not fit (G5). */
  readonly passedOver: number;
}

/** Why a request can never be met, for people. */
export type Refusal =
  | { readonly kind: 'not-a-share'; readonly message: string }
  | { readonly kind: 'too-many-cards'; readonly message: string };

export interface CardSnapshot {
  readonly runner: string;
  readonly index: number;
  readonly heldMilli: number;
  /** Number of the request that the card drains for (G5). */
  readonly drainsFor: number | undefined;
}

/** A branch and what is below it. */
export interface BranchSnapshot {
  readonly path: BranchPath;
  readonly heldMilli: number;
  /** Requests that wait. */
  readonly waiting: number;
  readonly weight: number;
}
