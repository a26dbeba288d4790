// The cards of one runner, and where a request fits on them.
import type { ShareEntry } from './share.ts';
import { WHOLE_CARD } from './types.ts';

export interface Card {
  readonly index: number;
  heldMilli: number;
  /** Request that the card drains for: nobody else is put on it (G5). */
  drainsFor: ShareEntry | undefined;
}

export class CardRunner {
  readonly name: string;
  readonly cards: readonly Card[];
  readonly waiting = new Set<ShareEntry>();
  readonly held = new Set<ShareEntry>();
  /** Its end is proven or it takes no new request; what is held stays held until then (G6). */
  isClosed = false;

  constructor(name: string, count: number) {
    this.name = name;
    this.cards = Array.from({ length: count }, (_, index) => ({ index, heldMilli: 0, drainsFor: undefined }));
  }

  get heldMilli(): number {
    return this.cards.reduce((sum, card) => sum + card.heldMilli, 0);
  }

  /** The cards that a request would get now; undefined: it does not fit. */
  fit(share: ShareEntry, packs: boolean): readonly Card[] | undefined {
    const open = this.cards.filter((card) => card.drainsFor === undefined || card.drainsFor === share);
    if (share.milli >= WHOLE_CARD) {
      const free = open.filter((card) => card.heldMilli === 0);
      const count = share.milli / WHOLE_CARD;
      return free.length < count ? undefined : free.sort(drainedFirst).slice(0, count);
    }
    const roomy = open.filter((card) => card.heldMilli + share.milli <= WHOLE_CARD);
    return roomy.length === 0 ? undefined : [roomy.sort(packs ? fullestFirst : emptiestFirst)[0]!];
  }

  /** Cards that a request needs and that do not drain for it. */
  lacking(share: ShareEntry): number {
    const claimed = this.cards.filter((card) => card.drainsFor === share).length;
    return Math.max(1, share.milli / WHOLE_CARD) - claimed;
  }

  /** G5: claims cards for an overdue request, the emptiest first, as many as it still lacks and nobody else claimed. */
  drainFor(share: ShareEntry): void {
    const free = this.cards.filter((card) => card.drainsFor === undefined).sort(emptiestFirst);
    for (const card of free.slice(0, this.lacking(share))) card.drainsFor = share;
  }

  stopDrainingFor(share: ShareEntry): void {
    for (const card of this.cards) if (card.drainsFor === share) card.drainsFor = undefined;
  }
}

const drainedFirst = (a: Card, b: Card): number =>
  Number(b.drainsFor !== undefined) - Number(a.drainsFor !== undefined) || a.index - b.index;
const emptiestFirst = (a: Card, b: Card): number => a.heldMilli - b.heldMilli || a.index - b.index;
const fullestFirst = (a: Card, b: Card): number => b.heldMilli - a.heldMilli || a.index - b.index;
