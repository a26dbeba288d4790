// A network on the virtual clock. One stream keeps its order, as TCP does, and different streams overtake each other. A stream breaks at
// any moment: what is on its way may be lost, either end hears of it late, or never (half open). A partition swallows everything.

import { fromBinary, toBinary } from '@bufbuild/protobuf';
import type { Frame, Wire, WireEvents } from '../../runner/protocol/index.ts';
import { FrameSchema } from '../../runner/protocol/index.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import type { Process } from './process.ts';
import type { Random } from './random.ts';

interface End {
  readonly process: Process;
  events: WireEvents | undefined;
  isClosed: boolean;
  /** When the last frame that was sent to it arrives: the next one cannot be earlier. */
  arrivesAtMs: number;
}

export class Stream {
  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #slowMs: number;
  readonly runner: End;
  readonly operator: End;
  /** Nothing gets through any more, and nobody need know. */
  isCut = false;
  /** How full the stream is, by direction: it refuses more for a while. */
  #congestedUntilMs = 0;

  constructor(clock: VirtualClock, random: Random, runner: Process, operator: Process) {
    this.#clock = clock;
    this.#random = random;
    this.#slowMs = random.chance(0.1) ? 3_000 : 20;
    this.runner = { process: runner, events: undefined, isClosed: false, arrivesAtMs: 0 };
    this.operator = { process: operator, events: undefined, isClosed: false, arrivesAtMs: 0 };
  }

  wireOf(end: End): Wire {
    const isCongested = () => this.#clock.nowMs() < this.#congestedUntilMs;
    return {
      get isCongested() {
        return isCongested();
      },
      send: (frame) => this.#send(end, frame),
      close: () => {
        end.isClosed = true;
        const other = end === this.runner ? this.operator : this.runner;
        if (!this.isCut) this.#deliver(other, () => this.#closed(other, 'the other end closed the stream'));
      },
    };
  }

  /** The stream takes nothing for a while. */
  congest(forMs: number): void {
    this.#congestedUntilMs = this.#clock.nowMs() + forMs;
    this.#clock.after(forMs, () => {
      for (const end of [this.runner, this.operator]) {
        end.process.enter(() => {
          if (!end.isClosed) end.events?.drained();
        });
      }
    });
  }

  /** It breaks: frames on their way are lost, and each end hears of it later, or not at all. */
  breakNow(): void {
    this.isCut = true;
    for (const end of [this.runner, this.operator]) {
      if (this.#random.chance(0.3)) continue;
      this.#clock.after(this.#random.duration(0, 2_000), () =>
        end.process.enter(() => this.#closed(end, 'the stream broke')),
      );
    }
  }

  #send(from: End, frame: Frame): void {
    if (from.isClosed || this.isCut) return;
    const to = from === this.runner ? this.operator : this.runner;
    const bytes = toBinary(FrameSchema, frame);
    this.#deliver(to, () => {
      if (!to.isClosed) to.events?.frame(fromBinary(FrameSchema, bytes));
    });
  }

  #deliver(to: End, act: () => void): void {
    to.arrivesAtMs = Math.max(to.arrivesAtMs, this.#clock.nowMs() + this.#random.duration(0, this.#slowMs));
    this.#clock.after(to.arrivesAtMs - this.#clock.nowMs(), () => {
      if (!this.isCut) to.process.enter(act);
    });
  }

  #closed(end: End, why: string): void {
    if (end.isClosed) return;
    end.isClosed = true;
    end.events?.closed(why);
  }
}
