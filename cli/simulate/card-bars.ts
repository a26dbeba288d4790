// Where shares of cards are drawn: each on the row of its card, a fraction on a part of its height that nobody else has at the time.
import type { CardHold } from './replay.ts';

const WHOLE_CARD = 1_000;

export interface CardBar {
  readonly update: number;
  readonly card: number;
  /** Thousandths of the card's height, from the top. */
  readonly offsetMilli: number;
  readonly milli: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** Bars of all shares. Where fractions of different sizes leave no gap that is high enough, bars overlap; the books never do. */
export function cardBars(holds: readonly CardHold[]): CardBar[] {
  const bars: CardBar[] = [];
  const byCard = new Map<number, CardBar[]>();
  for (const hold of [...holds].sort((a, b) => a.startMs - b.startMs)) {
    const milli = Math.min(hold.milli, WHOLE_CARD);
    for (const card of hold.cards) {
      const beside = (byCard.get(card) ?? []).filter(({ endMs }) => endMs > hold.startMs);
      const { update, startMs, endMs } = hold;
      const bar = { update, card, offsetMilli: freeOffset(beside, milli), milli, startMs, endMs };
      byCard.set(card, [...beside, bar]);
      bars.push(bar);
    }
  }
  return bars;
}

/** The highest place of that size beside the bars. */
function freeOffset(beside: readonly CardBar[], milli: number): number {
  const taken = [...beside].sort((a, b) => a.offsetMilli - b.offsetMilli);
  let offset = 0;
  for (const bar of taken) {
    if (bar.offsetMilli - offset >= milli) break;
    offset = Math.max(offset, bar.offsetMilli + bar.milli);
  }
  return Math.min(offset, WHOLE_CARD - milli);
}
