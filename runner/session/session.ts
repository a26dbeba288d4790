// The engine's side of the link: what the engine says leaves as one batch for each turn, what the operator says reaches the engine.
//   U1. Nothing is said twice: what belongs to an older opening is dropped, because the report of the newer one holds it.
//   U2. At most `BATCHES_AHEAD` batches are with the link; beyond that calls are collected, of which there are at most a few for each live run.
import { deliverDown, encodeReport, type Runner, type Specs, type Uplink, UpWriter } from '../protocol/index.ts';
import { Ledger } from './ledger.ts';
import type { LinkOwner } from './link.ts';

/** The link as the engine's thread sees it; on another thread, these are messages. */
export interface LinkPort {
  sendBatch(opening: number, bytes: Uint8Array): void;
  sendReport(opening: number, bytes: Uint8Array): void;
  stopped(): void;
  leave(why: string): void;
  gone(): void;
}

export interface SessionOptions {
  readonly engine: Runner;
  readonly link: LinkPort;
  /** Calls `flush` once, when the present turn of the event loop is over. */
  readonly defer: (flush: () => void) => void;
  readonly onSpecs?: (specs: Specs) => void;
  /** A session opened with an operator of this epoch. */
  readonly onOpened?: (epoch: number) => void;
  readonly onNote?: (text: string) => void;
  readonly kill?: (why: string) => void;
}

const BATCHES_AHEAD = 4;

export class RunnerSession implements LinkOwner {
  readonly #options: SessionOptions;
  readonly #ledger: Ledger;
  #writer = new UpWriter();
  #opening = 0;
  /** Batches given in this opening, the report included. */
  #batches = 0;
  /** Batches given since the link last said that it is ready. */
  #ahead = 0;
  #isDue = false;
  #isOver = false;
  #onLeft: (() => void) | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    const writer = () => {
      this.#flushSoon();
      return this.#writer;
    };
    this.#ledger = new Ledger({
      engine: options.engine,
      uplink: {
        mount: (parent, request) => writer().mount(parent, request),
        unmount: (parent, mount) => writer().unmount(parent, mount),
        exited: (run, outcome, trace) => writer().exited(run, outcome, trace),
        progress: (run, progress) => writer().progress(run, progress),
        tookOver: (run, from, paths) => writer().tookOver(run, from, paths),
        changed: (run, changes) => writer().changed(run, changes),
        measured: (stats) => writer().measured(stats),
        counted: (census) => writer().counted(census),
        askCard: (run, ask, milli) => writer().askCard(run, ask, milli),
        cardReturned: (run, ask, bodyMs) => writer().cardReturned(run, ask, bodyMs),
      },
      nextBatch: () => this.#batches + 1,
      onIdle: () => this.#idle(),
    });
  }

  /** What the engine calls. */
  get uplink(): Uplink {
    return this.#ledger;
  }

  get ledger(): Pick<Ledger, 'size' | 'isIdle' | 'tokens' | 'unacknowledged'> {
    return this.#ledger;
  }

  /**
   * Takes nothing new and hands back what would go on for long. `onLeft` is called when nothing executes here any more and the operator
   * has acknowledged it.
   */
  leave(why: string, onLeft: () => void): void {
    this.#onLeft = onLeft;
    this.#options.link.leave(why);
    this.#ledger.leave();
    this.#idle();
  }

  /** The engine never came to be, so nothing that was granted executes: all of it goes to others at once. */
  abandon(why: string): void {
    this.#options.link.leave(why);
    this.#options.link.gone();
  }

  /** The time to leave is up: what still executes is cancelled and handed back. */
  handBack(): void {
    this.#ledger.handBackAll();
  }

  // ---- what the link says -----------------------------------------------------------------------------------------

  opened(opening: number, epoch: number): void {
    this.#ledger.tellHeardHere();
    const report = this.#ledger.opened(epoch);
    this.#opening = opening;
    this.#writer = new UpWriter();
    this.#batches = 1;
    this.#ahead = 0;
    this.#options.onOpened?.(epoch);
    this.#options.link.sendReport(opening, encodeReport(report));
    this.#ledger.reported(1);
  }

  batch(opening: number, bytes: Uint8Array): void {
    if (opening === this.#opening) deliverDown(bytes, this.#ledger);
  }

  acknowledged(opening: number, batch: number): void {
    if (opening !== this.#opening) return;
    this.#ledger.acknowledged(batch);
    this.#tellIfLeft();
  }

  ready(opening: number): void {
    if (opening !== this.#opening) return;
    this.#ahead = 0;
    if (this.#writer.length > 0) this.#flushSoon();
  }

  over(why: string): void {
    this.#options.onNote?.(why);
    this.#opening = -1;
    this.#writer = new UpWriter();
    this.#isOver = true;
    this.#ledger.forsake(why);
  }

  specs(specs: Specs): void {
    this.#options.onSpecs?.(specs);
  }

  kill(why: string): void {
    this.#options.kill?.(why);
  }

  note(text: string): void {
    this.#options.onNote?.(text);
  }

  #idle(): void {
    if (this.#isOver && this.#ledger.isIdle) {
      this.#isOver = false;
      this.#options.link.stopped();
    }
    this.#tellIfLeft();
  }

  #tellIfLeft(): void {
    if (this.#onLeft === undefined || !this.#ledger.isIdle || this.#ledger.unacknowledged > 0) return;
    const onLeft = this.#onLeft;
    this.#onLeft = undefined;
    this.#options.link.gone();
    onLeft();
  }

  #flushSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#options.defer(() => this.#flush());
  }

  #flush(): void {
    this.#ledger.tellHeardHere();
    this.#isDue = false;
    if (this.#writer.length === 0 || this.#opening <= 0 || this.#ahead >= BATCHES_AHEAD) return;
    this.#batches++;
    this.#ahead++;
    this.#options.link.sendBatch(this.#opening, this.#writer.take());
  }
}
