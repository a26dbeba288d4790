// Shares of cards that bodies on this runner hold or wait for, for an operator that does not know.
//   J5. A share is held from its ask until its return, also where its run is over before: a body that nobody waits for still uses the card.
//   J6. What was asked in a session that is over counts no more for any operator, and still keeps this runner from beginning another (N3).
import type { ReportedCard } from '../protocol/index.ts';

export class HeldCards {
  readonly #shares = new Map<number, ReportedCard>();
  /** Asks of a session that is over. */
  readonly #ending = new Set<number>();

  get isEmpty(): boolean {
    return this.#shares.size === 0 && this.#ending.size === 0;
  }

  asked(share: ReportedCard): void {
    this.#shares.set(share.ask, share);
  }

  /** Whether anybody waits for it. */
  granted(ask: number, cards: readonly number[]): boolean {
    const share = this.#shares.get(ask);
    if (share !== undefined) this.#shares.set(ask, { ...share, cards });
    return share !== undefined;
  }

  /** Whether it was asked for and is over now. */
  refused(ask: number): boolean {
    return this.#shares.delete(ask);
  }

  /** Whether the operator is to hear of it. */
  returned(ask: number): boolean {
    this.#ending.delete(ask);
    return this.#shares.delete(ask);
  }

  /** The session is over (J6). */
  forsake(): void {
    for (const ask of this.#shares.keys()) this.#ending.add(ask);
    this.#shares.clear();
  }

  report(): readonly ReportedCard[] {
    return [...this.#shares.values()];
  }
}
