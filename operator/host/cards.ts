// Cards of one Pipeline as people and metrics look at them: held, waiting, by branch and by card, and how well granted time is used.
import type { CardView, DispatchEvents, Dispatcher } from '../dispatch/index.ts';

export interface CardsPicture {
  /** Cards of the runners that are there. */
  readonly total: number;
  /** Thousandths of a card. */
  readonly heldMilli: number;
  /** Bodies that wait for a share. */
  readonly waiting: number;
  /** Part of granted card time in which a body ran, from 0 to 1, since this operator began; absent: no share came back yet. */
  readonly busyRatio?: number;
  readonly cards: readonly CardPicture[];
  /** Live sources and updates that hold or await shares, outer ones first. */
  readonly branches: readonly CardBranchPicture[];
}

export interface CardPicture {
  readonly runner: string;
  readonly index: number;
  readonly heldMilli: number;
}

export interface CardBranchPicture {
  /** Names from the outermost live source to the update. */
  readonly path: readonly string[];
  readonly heldMilli: number;
  readonly waiting: number;
}

/** Adds up granted card time, and the part of it in which bodies ran, weighed by thousandths. */
export class CardMeter implements DispatchEvents {
  readonly #nowMs: () => number;
  #granted = 0;
  #busy = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  cardReturned({ milli, grantedAtMs }: CardView, bodyMs: number | undefined): void {
    if (bodyMs === undefined || grantedAtMs === undefined) return;
    const grantedMs = this.#nowMs() - grantedAtMs;
    this.#granted += grantedMs * milli;
    // One that an earlier operator granted has run for longer than this one knows of; and two clocks never agree to the millisecond.
    this.#busy += Math.min(bodyMs, grantedMs) * milli;
  }

  get busyRatio(): number | undefined {
    return this.#granted === 0 ? undefined : this.#busy / this.#granted;
  }
}

export function cardsPicture({ cards }: Pick<Dispatcher, 'cards'>, meter: CardMeter): CardsPicture {
  const snapshot = cards.snapshot();
  const branches = cards.branches();
  const outermost = branches.filter(({ path }) => path.length === 1);
  const { busyRatio } = meter;
  return {
    total: snapshot.length,
    heldMilli: snapshot.reduce((sum, { heldMilli }) => sum + heldMilli, 0),
    waiting: outermost.reduce((sum, { waiting }) => sum + waiting, 0),
    ...(busyRatio !== undefined && { busyRatio }),
    cards: snapshot.map(({ runner, index, heldMilli }) => ({ runner, index, heldMilli })),
    branches: branches.map(({ path, heldMilli, waiting }) => ({ path, heldMilli, waiting })),
  };
}
