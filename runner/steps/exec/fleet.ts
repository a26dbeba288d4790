// The processes of one `exec` step: a set number of them, or one for each set of cards.
import type { CardGrant } from '../../execute/index.ts';
import { visibleDevices } from '../../gpus.ts';
import { Program, type ProgramCall, type ProgramSettings } from './program.ts';

export class Fleet {
  readonly #settings: ProgramSettings;
  readonly #idle: Seat[];
  readonly #waiting: ((seat: Seat) => void)[] = [];
  readonly #byCards = new Map<string, Seat>();

  constructor(settings: ProgramSettings, processes: number) {
    this.#settings = settings;
    this.#idle = Array.from({ length: processes }, () => new Seat(settings));
  }

  /** Sends a request line to an idle process, or to the process of these cards. */
  async call(lineOf: (id: number) => string, cards: CardGrant | undefined, call: ProgramCall): Promise<object> {
    // A card's process takes one call at a time, also where two calls hold shares of the card.
    if (cards !== undefined) return this.#seatOf(cards).call(lineOf, call);
    const seat = this.#idle.pop() ?? (await new Promise<Seat>((resolve) => this.#waiting.push(resolve)));
    try {
      return await seat.call(lineOf, call);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#idle.push(seat);
      else next(seat);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#idle, ...this.#byCards.values()].map((seat) => seat.close()));
  }

  #seatOf(grant: CardGrant): Seat {
    const key = grant.cards.join(',');
    const known = this.#byCards.get(key);
    if (known !== undefined) return known;
    this.#closeOverlapping(grant.cards);
    const seat = new Seat(onCards(this.#settings, grant));
    this.#byCards.set(key, seat);
    return seat;
  }

  /** Whole cards come in other sets now: a process that has one of them is idle, since whoever holds a set holds all of it, and would keep its memory. */
  #closeOverlapping(cards: readonly number[]): void {
    for (const key of [...this.#byCards.keys()]) {
      if (!key.split(',').some((card) => cards.includes(Number(card)))) continue;
      void this.#byCards.get(key)?.close();
      this.#byCards.delete(key);
    }
  }
}

/** A program that takes its calls one after another. */
class Seat {
  readonly #program: Program;
  #last: Promise<unknown> = Promise.resolve();

  constructor(settings: ProgramSettings) {
    this.#program = new Program(settings);
  }

  call(lineOf: (id: number) => string, call: ProgramCall): Promise<object> {
    const result = this.#last.then(() => this.#program.call(lineOf, call));
    this.#last = result.catch(() => undefined);
    return result;
  }

  close(): Promise<void> {
    return this.#program.close();
  }
}

/** What a program is told of its cards: CUDA sees them alone, and the other two are for those that ask how much of them they may use. */
function onCards(settings: ProgramSettings, { cards, milliShare }: CardGrant): ProgramSettings {
  return {
    ...settings,
    env: async () => {
      const env = await settings.env();
      const told = {
        CUDA_VISIBLE_DEVICES: visibleDevices(cards, env),
        FAIRLEAD_GPUS: cards.join(','),
        FAIRLEAD_GPU_FRACTION: String(milliShare / 1000),
      };
      return { ...env, ...told };
    },
  };
}
