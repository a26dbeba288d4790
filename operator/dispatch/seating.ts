// Which runs count on their seats: exactly those of which the tree says that they execute (P3). The only writer of `LiveRun.isCounted`.
import type { LiveRun } from './live-run.ts';
import type { Placement } from './placement.ts';
import type { Seat } from './seat.ts';

export class Seating {
  readonly #placement: Placement;

  constructor(placement: Placement) {
    this.#placement = placement;
  }

  /** The tree may have changed its mind about the run. */
  recount(run: LiveRun | undefined): void {
    if (run === undefined || run.state.phase !== 'executing') return;
    const { ask, seat } = run.state;
    if (ask.isExecuting === run.isCounted) return;
    run.isCounted = ask.isExecuting;
    if (run.isCounted) this.#placement.occupy(seat, run);
    else this.#placement.vacate(seat, run);
  }

  leave(run: LiveRun, seat: Seat): void {
    if (!run.isCounted) return;
    run.isCounted = false;
    this.#placement.vacate(seat, run);
  }
}
