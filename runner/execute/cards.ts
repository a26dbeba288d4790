// Shares of the runner's cards, asked upward for bodies of steps (G2).
//   C1. Every ask is returned once, unless it was refused: when its body ended, or when nobody waits for it any more (G6).
//   C2. A grant whose wish was withdrawn meanwhile goes nowhere: its return is on its way already.
// Leaves: who gets which card and when (the dispatcher and its ledger).
import type { Clock } from '../clock.ts';
import type { CardGrant, RunNumber, Uplink } from '../protocol/index.ts';
import { StepError } from '../sdk/index.ts';

export interface HeldCard {
  readonly grant: CardGrant;
  /** The body ended. */
  release(): void;
}

interface Wish {
  readonly granted: (grant: CardGrant) => void;
  readonly refused: (why: string) => void;
}

export class CardDesk {
  readonly #uplink: () => Uplink;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Wish>();
  #asks = 0;

  constructor(uplink: () => Uplink, clock: Clock) {
    this.#uplink = uplink;
    this.#clock = clock;
  }

  /** Resolves when the share is held; rejects with the signal's reason, or with StepError where it can never be had. */
  acquire(run: RunNumber, milli: number, signal: AbortSignal): Promise<HeldCard> {
    signal.throwIfAborted();
    const ask = ++this.#asks;
    return new Promise((resolve, reject) => {
      const settled = (): void => {
        this.#waiting.delete(ask);
        signal.removeEventListener('abort', withdraw);
      };
      const withdraw = (): void => {
        settled();
        this.#uplink().cardReturned(run, ask, 0);
        reject(signal.reason);
      };
      signal.addEventListener('abort', withdraw, { once: true });
      this.#waiting.set(ask, {
        granted: (grant) => {
          settled();
          resolve(this.#held(run, ask, grant));
        },
        refused: (why) => {
          settled();
          reject(new StepError('invalid', why));
        },
      });
      this.#uplink().askCard(run, ask, milli);
    });
  }

  granted(ask: number, grant: CardGrant): void {
    this.#waiting.get(ask)?.granted(grant);
  }

  refused(ask: number, why: string): void {
    this.#waiting.get(ask)?.refused(why);
  }

  #held(run: RunNumber, ask: number, grant: CardGrant): HeldCard {
    const sinceMs = this.#clock.nowMs();
    return { grant, release: () => this.#uplink().cardReturned(run, ask, this.#clock.nowMs() - sinceMs) };
  }
}
