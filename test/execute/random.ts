// Chance that can be played again: a seed gives the same numbers each time.

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(of: readonly T[]): T {
    return of[this.below(of.length)] as T;
  }
}

/** Plays rounds with ascending seeds; a failure names the seed. `FAIRLEAD_SEED` plays that one alone. */
export async function playRounds(rounds: number, play: (random: Random) => Promise<void>): Promise<void> {
  const only = process.env.FAIRLEAD_SEED;
  const seeds = only === undefined ? Array.from({ length: rounds }, (_, index) => index + 1) : [Number(only)];
  for (const seed of seeds) {
    try {
      await play(new Random(seed));
    } catch (error) {
      throw new Error(`seed ${seed} (play it again with FAIRLEAD_SEED=${seed})`, { cause: error });
    }
  }
}
