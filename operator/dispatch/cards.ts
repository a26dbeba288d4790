// Cards of the runners: who holds which share, and on behalf of which update.
// Owns:   what bodies on seats asked for, were given and have not returned.
// Leaves: who is next and on which card (operator/cards), on which runner a run executes (placement.ts).
//   R1. A share belongs to its seat and ask. It lasts until the seat returns it or is gone, whether its run still lives or not (G6).
//   R2. Each ask is answered once: granted, or refused at once where no card of the seat can ever serve it.
//   R3. What a seat says of an ask that is not known is ignored.
//   R4. A share counts for the update of its run, below the live sources that the update stands under, as slots do (G3).
import type { ReportedCard, RunNumber } from '../../runner/protocol/index.ts';
import {
  type BranchPath,
  type BranchSnapshot,
  CardLedger,
  type CardSnapshot,
  type Share,
  WHOLE_CARD,
} from '../cards/index.ts';
import type { Clock } from '../clock.ts';
import type { OpenSource, OpenUpdate } from './open-update.ts';
import type { CardView, DispatchEvents } from './ports.ts';
import type { Seat } from './seat.ts';

export interface CardsOptions {
  readonly clock: Clock;
  readonly events: DispatchEvents;
  readonly isPacking: boolean;
}

/** An ask and its share. */
class LiveShare implements CardView {
  readonly seat: Seat;
  readonly run: RunNumber;
  readonly ask: number;
  readonly update: string;
  readonly askedAtMs: number;
  grantedAtMs: number | undefined;
  share!: Share;

  constructor(seat: Seat, asked: Asked, update: string, nowMs: number) {
    this.seat = seat;
    this.run = asked.run;
    this.ask = asked.ask;
    this.update = update;
    this.askedAtMs = nowMs;
  }

  get runner(): string {
    return this.seat.name;
  }

  get milli(): number {
    return this.share.milli;
  }

  get cards(): readonly number[] {
    return this.share.cards;
  }
}

interface Asked {
  readonly run: RunNumber;
  readonly ask: number;
  readonly milli: number;
}

export class Cards {
  readonly #options: CardsOptions;
  readonly #ledger: CardLedger;
  readonly #bySeat = new Map<Seat, Map<number, LiveShare>>();
  readonly #byShare = new Map<Share, LiveShare>();

  constructor(options: CardsOptions) {
    this.#options = options;
    this.#ledger = new CardLedger({ packs: options.isPacking });
  }

  // ---- seats ------------------------------------------------------------------------------------------------------

  seatJoined(seat: Seat): void {
    this.#bySeat.set(seat, new Map());
    this.#ledger.addRunner(seat.name, seat.cards);
  }

  /** Silent: nothing new is granted there; what it holds stays held. */
  setHeard(seat: Seat, isHeard: boolean): void {
    if (isHeard) this.#grant(this.#ledger.openRunner(seat.name));
    else this.#ledger.closeRunner(seat.name);
  }

  /** The seat is gone for certain, with its cards. */
  seatLeft(seat: Seat): void {
    for (const share of this.#ledger.removeRunner(seat.name)) this.#forget(this.#byShare.get(share)!, undefined);
    this.#bySeat.delete(seat);
  }

  // ---- shares -----------------------------------------------------------------------------------------------------

  /** `update`: of the run; undefined: the run is over. */
  ask(seat: Seat, asked: Asked, update: OpenUpdate | undefined): void {
    if (this.#bySeat.get(seat)?.has(asked.ask) === true) return;
    const refusal = CardLedger.refusal(asked.milli, seat.cards)?.message;
    const why = refusal ?? (update === undefined ? 'its run is over' : undefined);
    if (why !== undefined || update === undefined) this.#refuse(seat, asked, why ?? '');
    else this.#await(seat, asked, update.name, branchOf(update));
  }

  returned(seat: Seat, ask: number, bodyMs: number): void {
    const live = this.#bySeat.get(seat)?.get(ask);
    if (live === undefined) return;
    const wasHeld = live.share.state === 'held';
    const granted = wasHeld ? this.#ledger.release(live.share) : this.#ledger.withdraw(live.share);
    this.#forget(live, wasHeld ? bodyMs : undefined);
    this.#grant(granted);
  }

  /** Shares that a runner reports: what is held is held, whatever the rule says, then those that wait are served. */
  adopt(seat: Seat, reported: readonly ReportedCard[], updateOf: (name: string) => OpenUpdate | undefined): void {
    for (const card of reported) if (card.cards !== undefined) this.#adoptHeld(seat, card, card.cards, updateOf);
    for (const card of reported) {
      if (card.cards !== undefined) continue;
      const update = updateOf(card.update);
      // Asked while no operator was there to say so.
      const refusal = CardLedger.refusal(card.milli, seat.cards);
      if (refusal !== undefined) this.#refuse(seat, card, refusal.message);
      else this.#await(seat, card, card.update, update === undefined ? [card.update] : branchOf(update));
    }
  }

  #adoptHeld(
    seat: Seat,
    card: ReportedCard,
    cards: readonly number[],
    updateOf: (name: string) => OpenUpdate | undefined,
  ): void {
    const update = updateOf(card.update);
    const branch = update === undefined ? [card.update] : branchOf(update);
    const live = this.#note(seat, card, card.update);
    this.#keep(live, this.#ledger.adopt({ runner: seat.name, branch, milli: card.milli }, cards));
    live.grantedAtMs = live.askedAtMs;
    this.#options.events.cardGranted?.(live);
  }

  #await(seat: Seat, asked: Asked, update: string, branch: BranchPath): void {
    const live = this.#note(seat, asked, update);
    const { share, granted } = this.#ledger.request({ runner: seat.name, branch, milli: asked.milli });
    this.#keep(live, share);
    this.#options.events.cardAsked?.(live);
    this.#grant(granted);
  }

  #refuse(seat: Seat, { run, ask }: Asked, why: string): void {
    seat.runner.cardRefused(run, ask, why);
  }

  #note(seat: Seat, asked: Asked, update: string): LiveShare {
    return new LiveShare(seat, asked, update, this.#options.clock.nowMs());
  }

  #keep(live: LiveShare, share: Share): void {
    live.share = share;
    this.#byShare.set(share, live);
    this.#bySeat.get(live.seat)!.set(live.ask, live);
  }

  #grant(granted: readonly Share[]): void {
    for (const share of granted) {
      const live = this.#byShare.get(share)!;
      live.grantedAtMs = this.#options.clock.nowMs();
      this.#options.events.cardGranted?.(live);
      const { seat, run, ask } = live;
      const grant = { cards: share.cards, milliShare: Math.min(share.milli, WHOLE_CARD) };
      seat.runner.cardGranted(run, ask, grant);
    }
  }

  #forget(live: LiveShare, bodyMs: number | undefined): void {
    this.#byShare.delete(live.share);
    this.#bySeat.get(live.seat)?.delete(live.ask);
    this.#options.events.cardReturned?.(live, bodyMs);
  }

  // ---- settings ---------------------------------------------------------------------------------------------------

  /** Decides the next freed share already, for what waits too. */
  setWeight(source: OpenSource, weight: number): void {
    this.#ledger.setWeight(sourcePath(source), weight);
  }

  /** Whether some steps need whole cards: fractions then share cards that are in use. */
  setPacking(isPacking: boolean): void {
    this.#ledger.setPacking(isPacking);
  }

  // ---- looking ----------------------------------------------------------------------------------------------------

  /** Every card of every seat. */
  snapshot(): readonly CardSnapshot[] {
    return this.#ledger.snapshot();
  }

  /** Live sources and updates that hold or await shares, outer ones before those below them. */
  branches(): readonly BranchSnapshot[] {
    return this.#ledger.branches();
  }

  /** Bodies that hold or wait for a share. */
  shares(): readonly CardView[] {
    return [...this.#byShare.values()];
  }

  /** Recounts everything the slow way; throws where it differs from the books. */
  audit(): void {
    const wrong = this.#ledger.audit();
    if (wrong.length > 0) throw new Error(wrong.join('; '));
  }
}

/** R4. */
function branchOf(update: OpenUpdate): BranchPath {
  return update.of === undefined ? [update.name] : [...sourcePath(update.of), update.name];
}

function sourcePath(source: OpenSource): BranchPath {
  return source.above === undefined ? [source.name] : [...sourcePath(source.above), source.name];
}
