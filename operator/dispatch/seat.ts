// A seat is one runner as the dispatcher sees it: its class, its slots, its cards, and what executes there.
import type { Runner } from '../../runner/protocol/index.ts';

/**
 * - `serving`: takes runs.
 * - `draining`: takes no new run; what it has goes on.
 * - `silent`: not heard of; all that it held counts as held, and it takes nothing.
 * - `gone`: removed; what it executed was admitted again elsewhere.
 */
export type SeatPhase = 'serving' | 'draining' | 'silent' | 'gone';

export class Seat {
  readonly name: string;
  readonly runnerClass: string;
  readonly runner: Runner;
  /** Number of its arrival; last tie-break of placement. */
  readonly ordinal: number;
  phase: SeatPhase = 'serving';
  slots: number;
  readonly cards: number;
  /** Runs that execute here; a parent whose slot is lent does not count. */
  executing = 0;
  /** Of these, runs under which a runner was lost before. */
  suspects = 0;
  /** What their steps may ask of its cards, in thousandths. */
  spokenMilli = 0;
  /** Live sources whose watcher stands here. */
  watchers = 0;
  /** Position in its class's heap; -1 while it takes no runs. */
  heapIndex = -1;
  /** What it adds to the size of its class. */
  countedSize = 0;

  constructor(options: {
    readonly name: string;
    readonly runnerClass: string;
    readonly slots: number;
    readonly cards: number;
    readonly runner: Runner;
    readonly ordinal: number;
  }) {
    this.name = options.name;
    this.runnerClass = options.runnerClass;
    this.slots = options.slots;
    this.cards = options.cards;
    this.runner = options.runner;
    this.ordinal = options.ordinal;
  }

  /** Runs that it can take now. Below zero after a parent resumed while its room was in use, or after `slots` shrank. */
  get room(): number {
    return this.phase === 'serving' ? this.slots - this.executing : 0;
  }

  /** The same for children of a run that it has: while it drains they still come, or their parent could not end. */
  get roomForChildren(): number {
    return this.phase === 'draining' ? this.slots - this.executing : this.room;
  }
}
