// What one runner says, brought to whom it concerns. What it says of runs that it does not have goes nowhere (D2).
import type {
  Census,
  ComponentPath,
  MountRequest,
  RunNumber,
  RunnerStats,
  RunOutcome,
  RunTrace,
  SourceChange,
  UpdateProgress,
  Uplink,
} from '../../runner/protocol/index.ts';
import type { Cards } from './cards.ts';
import { childOf } from './live-run.ts';
import type { DispatchEvents } from './ports.ts';
import type { RunTable } from './run-table.ts';
import type { Runs } from './runs.ts';
import type { Seat } from './seat.ts';
import type { Sources } from './sources.ts';
import type { Updates } from './updates.ts';
import type { Watchers } from './watchers.ts';

/** Who hears. */
export interface Concerned {
  readonly table: RunTable;
  readonly runs: Runs;
  readonly sources: Sources;
  readonly updates: Updates;
  readonly watchers: Watchers;
  readonly cards: Cards;
  readonly events: DispatchEvents;
}

export class SeatUplink implements Uplink {
  readonly #seat: Seat;
  readonly #concerned: Concerned;

  constructor(seat: Seat, concerned: Concerned) {
    this.#seat = seat;
    this.#concerned = concerned;
  }

  mount(parentNumber: RunNumber, request: MountRequest): void {
    const { table, updates } = this.#concerned;
    const parent = table.on(this.#seat, parentNumber);
    if (parent === undefined) return;
    const why = parent.cancelledWhy ?? parent.update.cancelledWhy;
    if (why === undefined) updates.mount(parent, request);
    else this.#seat.runner.mountEnded(parentNumber, request.mount, { kind: 'cancelled', why });
  }

  unmount(parentNumber: RunNumber, mount: number): void {
    const { table, runs, watchers } = this.#concerned;
    const parent = table.on(this.#seat, parentNumber);
    const child = parent && childOf(parent, mount);
    if (child === undefined) return;
    if (child.kind === 'watch') watchers.stop(child, 'unmounted');
    else runs.cancelAll(child, 'unmounted');
  }

  exited(number: RunNumber, outcome: RunOutcome, trace?: RunTrace): void {
    const { table, runs, watchers } = this.#concerned;
    const run = table.on(this.#seat, number);
    if (run === undefined) return;
    if (run.kind === 'watch') watchers.exited(run, outcome);
    else runs.exited(run, outcome, trace);
  }

  progress(number: RunNumber, progress: UpdateProgress): void {
    const run = this.#concerned.table.on(this.#seat, number);
    if (run !== undefined) this.#concerned.updates.progress(run, progress);
  }

  tookOver(number: RunNumber, from: string, paths: readonly ComponentPath[]): void {
    const { table, runs } = this.#concerned;
    if (table.on(this.#seat, number) === undefined) return;
    for (const path of paths) runs.supersede(path, from);
  }

  changed(number: RunNumber, changes: readonly SourceChange[]): void {
    const run = this.#concerned.table.on(this.#seat, number);
    if (run?.kind === 'watch') this.#concerned.sources.changed(run, changes);
  }

  measured(stats: RunnerStats): void {
    this.#concerned.events.measured?.(this.#seat.name, stats);
  }

  counted(census: Census): void {
    this.#concerned.events.counted?.(census);
  }

  askCard(run: RunNumber, ask: number, milli: number): void {
    const { table, cards } = this.#concerned;
    cards.ask(this.#seat, { run, ask, milli }, table.on(this.#seat, run)?.update);
  }

  cardReturned(_run: RunNumber, ask: number, bodyMs: number): void {
    this.#concerned.cards.returned(this.#seat, ask, bodyMs);
  }
}
