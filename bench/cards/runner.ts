// A runner process for the benchmark of cards: the real session and link, and bodies that only take time. A cycle's root run keeps `calls` calls
// going for `forMs`, each of which asks for a share, holds it for `bodyMs` and gives it back; its outcome says what became of the cards' time.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../runner/clock.ts';
import { CardDesk } from '../../runner/execute/cards.ts';
import { type CardGrant, NO_COUNTS, type RunNumber, type Runner, type RunOrder } from '../../runner/protocol/index.ts';
import { connect } from '../../runner/session/index.ts';
import { CARDS, type CardTime, type CardWork } from './work.ts';

const [address, folder, name, slots] = process.argv.slice(2) as [string, string, string, string];

class CardEngine implements Runner {
  desk!: CardDesk;

  start(order: RunOrder): void {
    const work = order.input as unknown as CardWork;
    void new Calls(this.desk, order.token.run, work).done.then((time) => {
      const value = { gapsMs: [...time.gapsMs], busyMs: time.busyMs, bodies: time.bodies, lastedMs: time.lastedMs };
      session.uplink.exited(order.token.run, { kind: 'done', counts: NO_COUNTS, value });
    });
  }

  cardGranted(_run: RunNumber, ask: number, grant: CardGrant): void {
    this.desk.granted(ask, grant);
  }

  cardRefused(_run: RunNumber, ask: number, why: string): void {
    this.desk.refused(ask, why);
  }

  cancel(): void {}
  renewed(): void {}
  mountStarted(): void {}
  mountEnded(): void {}
}

/** Calls of one run, one after another in each of so many lanes. */
class Calls {
  readonly done: Promise<CardTime>;
  readonly #desk: CardDesk;
  readonly #run: RunNumber;
  readonly #work: CardWork;
  readonly #endMs: number;
  readonly #gapsMs: number[] = [];
  /** When shares of each card were freed that nobody has begun to use, oldest first. */
  readonly #freedAtMs: number[][] = Array.from({ length: CARDS }, () => []);
  #busyMs = 0;
  #bodies = 0;

  constructor(desk: CardDesk, run: RunNumber, work: CardWork) {
    this.#desk = desk;
    this.#run = run;
    this.#work = work;
    const startMs = performance.now();
    this.#endMs = startMs + work.forMs;
    this.done = Promise.all(Array.from({ length: work.calls }, () => this.#lane())).then(() => ({
      gapsMs: this.#gapsMs,
      busyMs: this.#busyMs,
      bodies: this.#bodies,
      lastedMs: work.forMs,
    }));
  }

  async #lane(): Promise<void> {
    const signal = new AbortController().signal;
    while (performance.now() < this.#endMs) {
      const { grant, release } = await this.#desk.acquire(this.#run, this.#work.milli, signal);
      const card = grant.cards[0]!;
      const startMs = performance.now();
      const freedMs = this.#freedAtMs[card]!.shift();
      if (freedMs !== undefined && startMs < this.#endMs) this.#gapsMs.push(startMs - freedMs);
      await new Promise((resolve) => setTimeout(resolve, this.#work.bodyMs));
      const endMs = performance.now();
      release();
      this.#freedAtMs[card]!.push(endMs);
      this.#bodies++;
      // Only what lies in the measured time counts.
      this.#busyMs += Math.max(0, Math.min(endMs, this.#endMs) - startMs) * (grant.milliShare / 1000);
    }
  }
}

const engine = new CardEngine();
const { session } = connect({
  engine,
  identity: { runner: name, pipeline: 'bench/cards', runnerClass: 'gpu', slots: Number(slots), gpus: CARDS },
  addresses: [address],
  ca: readFileSync(join(folder, 'ca.pem'), 'utf8'),
  tokenFile: join(folder, 'token'),
  onSpecs: () => {},
});
engine.desk = new CardDesk(() => session.uplink, systemClock);
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send!((user + system) / 1000);
});
process.on('disconnect', () => process.exit());
