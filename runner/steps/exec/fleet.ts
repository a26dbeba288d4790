// The processes of one `exec` step: a set number of them, or one for each set of cards.
import type { CardGrant } from '../../execute/index.ts';
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

  #seatOf({ cards }: CardGrant): Seat {
    const key = cards.join(',');
    let seat = this.#byCards.get(key);
    if (seat === undefined) {
      seat = new Seat(onCards(this.#settings, key));
      this.#byCards.set(key, seat);
    }
    return seat;
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

function onCards(settings: ProgramSettings, cards: string): ProgramSettings {
  return {
    ...settings,
    env: async () => {
      const { env, secrets } = await settings.env();
      return { env: { ...env, CUDA_VISIBLE_DEVICES: cards }, secrets };
    },
  };
}
