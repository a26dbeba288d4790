// `watch` runs: live sources that stay up on a runner, take no slot, and make updates of what they see.
//   V1. A watcher stands on the runner with the fewest watchers; without a runner it waits for one.
//   V2. The watcher of a LiveSource that ends is started again with back-off, until it is stopped. Each start is armed anew and says so with
//       a `rescan`, so a cycle closes the gap.
//       One that was handed back, because its runner leaves, goes on elsewhere at once.
//   V3. One watcher at a path: a live source that is mounted again in the same version is the one that is there. In another version it replaces
//       the older one, which gets `DRAIN_MAX_MS` to end; after that the new one begins anyway, and its token keeps late writes of the old one out.
//   V4. Removing a component stops the live sources at and below it first.
import { isBelow, type MountRequest, type RunOutcome } from '../../runner/protocol/index.ts';
import type { CancelTimer, Clock } from '../clock.ts';
import { type LiveRun, orderOf, UNPLACED } from './live-run.ts';
import type { Runs } from './runs.ts';
import type { Seat } from './seat.ts';

/** As long as a runner gets to drain by default in Kubernetes. */
export const DRAIN_MAX_MS = 30_000;
const BACK_OFF_MIN_MS = 1_000;
const BACK_OFF_MAX_MS = 60_000;

interface Watcher {
  readonly run: LiveRun;
  /** A component mounted it; else it belongs to a LiveSource and is started again when it ends. */
  readonly isNested: boolean;
  failures: number;
  /** Why it is not placed though there may be a runner: a back-off, or an older watcher that drains. */
  waits: 'no' | 'back-off' | 'drain';
}

/** Something that waits for watchers to end. */
interface Gate {
  readonly for: Set<LiveRun>;
  readonly giveUp: CancelTimer;
  readonly open: () => void;
}

export interface WatchersOptions {
  readonly runs: Runs;
  readonly clock: Clock;
  readonly epoch: number;
  readonly seats: () => Iterable<Seat>;
  /** A watcher is over for good: its live source is to close. */
  readonly closed: (run: LiveRun) => void;
}

export class Watchers {
  readonly #options: WatchersOptions;
  readonly #watchers = new Map<LiveRun, Watcher>();
  readonly #gates = new Set<Gate>();

  constructor(options: WatchersOptions) {
    this.#options = options;
  }

  /** Starts a watcher as soon as there is a runner for it and nothing older at its path (V3). */
  open(run: LiveRun, isNested: boolean): void {
    const older = this.#nested((path) => path === run.path);
    const watcher: Watcher = { run, isNested, failures: 0, waits: 'drain' };
    this.#watchers.set(run, watcher);
    for (const other of older) this.stop(other, 'mounted again');
    this.#after(older, () => this.#ready(watcher));
  }

  /** A watcher that a component mounted under an earlier operator, on the runner that has it. */
  adopt(run: LiveRun, seat: Seat): void {
    this.#watchers.set(run, { run, isNested: true, failures: 0, waits: 'no' });
    run.state = { phase: 'watching', seat };
    seat.watchers++;
  }

  /** Whether the live source that is mounted is there already (V3). */
  has({ path, version }: MountRequest): boolean {
    if (version === undefined) return false;
    const same = (run: LiveRun) => run.request.version === version && run.cancelledWhy === undefined;
    return [...this.#nested((other) => other === path)].some(same);
  }

  /** Stops live sources that components at and below a path mounted. */
  stopBelow(path: string, why: string): void {
    for (const run of this.#nested((other) => other === path || isBelow(other, path))) this.stop(run, why);
  }

  /** Stops it for good. */
  stop(run: LiveRun, why: string): void {
    if (!this.#watchers.has(run) || run.cancelledWhy !== undefined) return;
    run.cancelledWhy = why;
    const { seat } = run;
    if (seat === undefined) this.#close(run, { kind: 'cancelled', why });
    else seat.runner.cancel(run.number, why);
  }

  /** Stops live sources at and below a path; `then` runs when they are gone, or took too long (V4). */
  clear(path: string, then: () => void): void {
    const doomed = this.#nested((other) => other === path || isBelow(other, path));
    for (const run of doomed) this.stop(run, 'its component is removed');
    this.#after(doomed, then);
  }

  exited(run: LiveRun, outcome: RunOutcome): void {
    const watcher = this.#watchers.get(run);
    if (watcher === undefined) return;
    this.#unplace(run);
    if (outcome.kind === 'parked' && run.cancelledWhy === undefined) {
      this.#place(watcher);
      return;
    }
    if (watcher.isNested || run.cancelledWhy !== undefined) {
      this.#close(run, outcome);
      return;
    }
    watcher.waits = 'back-off';
    const delayMs = Math.min(BACK_OFF_MIN_MS * 2 ** watcher.failures++, BACK_OFF_MAX_MS);
    this.#options.clock.after(delayMs, () => this.#ready(watcher));
  }

  /** It saw something, so it works: its next failure waits the shortest time again. */
  saw(run: LiveRun): void {
    const watcher = this.#watchers.get(run);
    if (watcher !== undefined) watcher.failures = 0;
  }

  /** A runner can take watchers. */
  seatJoined(): void {
    for (const watcher of this.#watchers.values()) this.#place(watcher);
  }

  /** The seat's runner is gone. */
  lost(seat: Seat): void {
    const lost = [...this.#watchers.values()].filter(({ run }) => run.seat === seat);
    for (const { run } of lost) this.#unplace(run);
    for (const watcher of lost) {
      const why = watcher.run.cancelledWhy;
      if (why === undefined) this.#place(watcher);
      else this.#close(watcher.run, { kind: 'cancelled', why });
    }
  }

  #nested(matches: (path: string) => boolean): Set<LiveRun> {
    const runs = new Set<LiveRun>();
    for (const { run, isNested } of this.#watchers.values()) if (isNested && matches(run.path)) runs.add(run);
    return runs;
  }

  #ready(watcher: Watcher): void {
    watcher.waits = 'no';
    this.#place(watcher);
  }

  #place(watcher: Watcher): void {
    const { run } = watcher;
    if (watcher.waits !== 'no' || run.state.phase !== 'unplaced' || !this.#watchers.has(run)) return;
    const seat = this.#emptiest(run.request.runnerClass);
    if (seat === undefined) return;
    const isFirst = run.attempt === 0;
    run.attempt++;
    run.state = { phase: 'watching', seat };
    seat.watchers++;
    seat.runner.start(orderOf(run, this.#options.epoch, () => []));
    if (isFirst) this.#options.runs.announce(run);
  }

  #emptiest(runnerClass: string | undefined): Seat | undefined {
    let best: Seat | undefined;
    for (const seat of this.#options.seats()) {
      if (seat.phase !== 'serving' || (runnerClass !== undefined && seat.runnerClass !== runnerClass)) continue;
      if (best === undefined || seat.watchers < best.watchers) best = seat;
    }
    return best;
  }

  #unplace(run: LiveRun): void {
    if (run.seat !== undefined) run.seat.watchers--;
    run.state = UNPLACED;
  }

  #close(run: LiveRun, outcome: RunOutcome): void {
    this.#watchers.delete(run);
    for (const gate of this.#gates) {
      if (gate.for.delete(run) && gate.for.size === 0) this.#open(gate);
    }
    this.#options.closed(run);
    this.#options.runs.over(run, outcome);
  }

  #after(runs: Set<LiveRun>, open: () => void): void {
    for (const run of runs) if (!this.#watchers.has(run)) runs.delete(run);
    if (runs.size === 0) {
      open();
      return;
    }
    const gate: Gate = {
      for: runs,
      open,
      giveUp: this.#options.clock.after(DRAIN_MAX_MS, () => this.#open(gate)),
    };
    this.#gates.add(gate);
  }

  #open(gate: Gate): void {
    if (!this.#gates.delete(gate)) return;
    gate.giveUp();
    gate.open();
  }
}
