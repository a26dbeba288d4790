// Bodies that hold cards, as the simulation's engine plays them: they ask, wait, work for a while and return. A body whose run was cancelled
// may work on for a while after its run is over, as a program does that does not look at its signal.
import type { CancelTimer } from '../../runner/clock.ts';
import type { CardGrant, RunNumber, Uplink } from '../../runner/protocol/index.ts';
import type { Process } from './process.ts';
import type { Random } from './random.ts';

/** Longer than a runner waits for its runs to stop: then it ends, and its bodies with it. */
const LINGER_MAX_MS = 6_000;

interface Body {
  readonly run: RunNumber;
  readonly ask: number;
  readonly milli: number;
  grant: CardGrant | undefined;
  /** The run goes on; undefined: nobody waits for it any more. */
  ended: ((isRefused: boolean) => void) | undefined;
  timer: CancelTimer;
}

export class Bodies {
  readonly #uplink: () => Uplink;
  readonly #process: Process;
  readonly #random: Random;
  readonly #bodies = new Map<number, Body>();
  #asks = 0;

  constructor(uplink: () => Uplink, process: Process, random: Random) {
    this.#uplink = uplink;
    this.#process = process;
    this.#random = random;
  }

  /** A body of the run is to use a share; `ended` hears when it did, or that it never can. */
  begin(run: RunNumber, milli: number, ended: (isRefused: boolean) => void): void {
    const ask = ++this.#asks;
    this.#bodies.set(ask, { run, ask, milli, grant: undefined, ended, timer: () => {} });
    this.#uplink().askCard(run, ask, milli);
  }

  granted(ask: number, grant: CardGrant): void {
    const body = this.#bodies.get(ask);
    if (body === undefined) return;
    if (body.grant !== undefined) throw new Error(`the ask ${ask} was granted twice`);
    if (body.milli !== grant.milliShare * grant.cards.length) throw new Error(`the ask ${ask} got another share`);
    body.grant = grant;
    body.timer = this.#process.clock.after(this.#lastsMs(), () => this.#end(body));
  }

  /** Mostly short; some hold their share for longer than a lease. */
  #lastsMs(): number {
    return this.#random.chance(0.15) ? this.#random.integer(5_000, 30_000) : this.#random.duration(0, 3_000);
  }

  refused(ask: number): void {
    const body = this.#bodies.get(ask);
    this.#bodies.delete(ask);
    body?.ended?.(true);
  }

  /** Nobody waits for the run's bodies any more: those without a card are withdrawn, the others may work on. */
  abandon(run: RunNumber): void {
    for (const body of [...this.#bodies.values()]) {
      if (body.run !== run) continue;
      body.ended = undefined;
      if (body.grant === undefined || this.#random.chance(0.3)) this.#end(body);
      else this.#linger(body);
    }
  }

  #linger(body: Body): void {
    body.timer();
    body.timer = this.#process.clock.after(this.#random.integer(0, LINGER_MAX_MS), () => this.#end(body));
  }

  /** Thousandths in use, by card. */
  inUse(): Map<number, number> {
    const inUse = new Map<number, number>();
    for (const { grant } of this.#bodies.values()) {
      for (const card of grant?.cards ?? []) inUse.set(card, (inUse.get(card) ?? 0) + grant!.milliShare);
    }
    return inUse;
  }

  get size(): number {
    return this.#bodies.size;
  }

  #end(body: Body): void {
    body.timer();
    this.#bodies.delete(body.ask);
    this.#uplink().cardReturned(body.run, body.ask, 1);
    body.ended?.(false);
  }
}
