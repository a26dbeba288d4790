// A process on the virtual clock: it can be killed, and it can be stopped for a while, as a debugger or a frozen node stops one.
import type { CancelTimer, Clock } from '../../runner/clock.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';

export class Process {
  readonly clock: Clock;
  readonly #world: VirtualClock;
  #isAlive = true;
  #isFrozen = false;
  /** What came due while it was frozen, in order. */
  #overdue: (() => void)[] = [];

  constructor(world: VirtualClock) {
    this.#world = world;
    this.clock = { nowMs: () => world.nowMs(), after: (delayMs, wake) => this.#after(delayMs, wake) };
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  kill(): void {
    this.#isAlive = false;
    this.#overdue = [];
  }

  freeze(): void {
    this.#isFrozen = true;
  }

  /** Goes on: all that came due happens now, in order. */
  thaw(): void {
    this.#isFrozen = false;
    while (this.#overdue.length > 0 && !this.#isFrozen) this.#overdue.shift()!();
  }

  /** Something from outside reaches the process. */
  enter(act: () => void): void {
    if (!this.#isAlive) return;
    if (this.#isFrozen) this.#overdue.push(() => this.enter(act));
    else act();
  }

  /** When the present turn is over. */
  readonly defer = (flush: () => void): void => {
    this.#after(0, flush);
  };

  #after(delayMs: number, wake: () => void): CancelTimer {
    let isCancelled = false;
    const cancel = this.#world.after(delayMs, () =>
      this.enter(() => {
        if (!isCancelled) wake();
      }),
    );
    return () => {
      isCancelled = true;
      cancel();
    };
  }
}
