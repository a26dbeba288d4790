// A dispatcher on a virtual clock with runners that the test plays; turns end when the test says so.
import { Dispatcher, type DispatcherOptions, type Seat, type UpdateStart } from '../../operator/dispatch/index.ts';
import { ScriptedRunner } from '../support/scripted-runner.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

export interface WorldRunner {
  readonly runner: ScriptedRunner;
  readonly seat: Seat;
}

export class World {
  readonly clock = new VirtualClock(0);
  readonly dispatcher: Dispatcher;
  readonly endings: string[] = [];
  #flush: (() => void) | undefined;

  constructor(options: Partial<DispatcherOptions> = {}) {
    this.dispatcher = new Dispatcher({
      clock: this.clock,
      slotsMax: 8,
      epoch: 1,
      defer: (flush) => {
        this.#flush = flush;
      },
      ...options,
    });
  }

  runner(name: string, slots = 8, runnerClass = 'cpu', cards = 0): WorldRunner {
    const runner = new ScriptedRunner();
    const joined = this.dispatcher.addRunner({ name, runnerClass, slots, cards, runner });
    runner.uplink = joined.uplink;
    this.settle();
    return { runner, seat: joined.seat };
  }

  /** Ends turns until nothing is left to deliver. */
  settle(): void {
    for (let flush = this.#flush; flush !== undefined; flush = this.#flush) {
      this.#flush = undefined;
      flush();
    }
  }

  update(start: Partial<UpdateStart> = {}): string {
    const { name } = this.dispatcher.startUpdate({
      kind: start.source === undefined ? 'pipeline' : 'cycle',
      trigger: 'test',
      observer: { ended: ({ name: ended }, { result }) => this.endings.push(`${ended} ${result}`) },
      ...start,
    });
    this.settle();
    return name;
  }

  /** Does something and ends the turn. */
  do(act: () => void): void {
    act();
    this.settle();
  }
}
