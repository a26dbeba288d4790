// Shares of cards as columns: what is asked for, and what is granted.
import { create } from '@bufbuild/protobuf';
import { ByteColumn, ByteReader, DoubleColumn, DoubleReader, WordColumn, WordReader } from './columns.ts';
import { type CardAsks, CardAsksSchema, type CardGrants, CardGrantsSchema } from './link_pb.ts';
import type { CardGrant, RunNumber } from './messages.ts';

export interface CardAsk {
  readonly run: RunNumber;
  readonly ask: number;
  readonly milli: number;
}

/** Lists of card indices, one for each message. */
export class CardLists {
  readonly counts = new ByteColumn();
  readonly cards = new ByteColumn();

  push(cards: readonly number[]): void {
    this.counts.push(cards.length);
    for (const card of cards) this.cards.push(card);
  }
}

/** Reads what `CardLists` wrote. */
export class CardListReader {
  readonly #counts: ByteReader;
  readonly #cards: ByteReader;

  constructor(counts: Uint8Array, cards: Uint8Array) {
    this.#counts = new ByteReader(counts);
    this.#cards = new ByteReader(cards);
  }

  next(): number[] {
    return Array.from({ length: this.#counts.next() }, () => this.#cards.next());
  }
}

export class CardAskWriter {
  readonly #runs = new DoubleColumn();
  readonly #asks = new WordColumn();
  readonly #milli = new WordColumn();

  push({ run, ask, milli }: CardAsk): void {
    this.#runs.push(run);
    this.#asks.push(ask);
    this.#milli.push(milli);
  }

  take(): CardAsks {
    const [runsF64, asksU32, milliU32] = [this.#runs.take(), this.#asks.take(), this.#milli.take()];
    return create(CardAsksSchema, { runsF64, asksU32, milliU32 });
  }
}

export class CardAskReader {
  readonly length: number;
  readonly #runs: DoubleReader;
  readonly #asks: WordReader;
  readonly #milli: WordReader;

  constructor(asks: CardAsks | undefined) {
    const { runsF64, asksU32, milliU32 } = asks ?? create(CardAsksSchema);
    this.length = asksU32.length / Uint32Array.BYTES_PER_ELEMENT;
    this.#runs = new DoubleReader(runsF64);
    this.#asks = new WordReader(asksU32);
    this.#milli = new WordReader(milliU32);
  }

  next(): CardAsk {
    return { run: this.#runs.next(), ask: this.#asks.next(), milli: this.#milli.next() };
  }
}

export class CardGrantWriter {
  readonly #asks = new CardAskWriter();
  readonly #lists = new CardLists();

  push(run: RunNumber, ask: number, { cards, milliShare }: CardGrant): void {
    this.#asks.push({ run, ask, milli: milliShare });
    this.#lists.push(cards);
  }

  take(): CardGrants {
    const { runsF64, asksU32, milliU32 } = this.#asks.take();
    const [countsU8, cardsU8] = [this.#lists.counts.take(), this.#lists.cards.take()];
    return create(CardGrantsSchema, { runsF64, asksU32, milliU32, countsU8, cardsU8 });
  }
}

export class CardGrantReader {
  readonly #asks: CardAskReader;
  readonly #lists: CardListReader;

  constructor(grants: CardGrants | undefined) {
    const { runsF64, asksU32, milliU32, countsU8, cardsU8 } = grants ?? create(CardGrantsSchema);
    this.#asks = new CardAskReader(create(CardAsksSchema, { runsF64, asksU32, milliU32 }));
    this.#lists = new CardListReader(countsU8, cardsU8);
  }

  next(): { readonly run: RunNumber; readonly ask: number; readonly grant: CardGrant } {
    const { run, ask, milli } = this.#asks.next();
    return { run, ask, grant: { cards: this.#lists.next(), milliShare: milli } };
  }
}
