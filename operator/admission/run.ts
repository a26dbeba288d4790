// A run as the tree keeps it, and the lists that runs stand in.
// A run is in one list at a time: in the queue of its lane while it waits, else among the others of its branch. One pair of links is
// therefore enough, and a run that waits stays small.
import type { BranchEntry } from './branch.ts';
import type { Lane } from './lane.ts';
import type { Loan } from './loan.ts';
import type { Room } from './rooms.ts';
import type { RequestOptions, Run, RunState } from './types.ts';

/** What a run in flight adds to the counts of its branches: what it declared (A11), and that it did, until it mounts others (M1). */
export const LOADS = ['rows', 'bytes', 'milliCards', 'loaded'] as const;
export type Load = Readonly<Record<(typeof LOADS)[number], number>>;

export class RunEntry implements Run {
  /** Written by the tree's `#become`; `ended` also before it stands anywhere. */
  state: RunState = 'ended';
  isExecuting = false;
  /** The class that it asked for; once granted, the class whose room it takes (A12). */
  room: Room;
  /** The loan that it uses. Granted without one: the slot is its own (A7). */
  borrowed: Loan | undefined = undefined;
  /** The loan that it gives, made when it mounts its first child. */
  loan: Loan | undefined = undefined;
  prev: RunEntry | undefined = undefined;
  next: RunEntry | undefined = undefined;
  readonly number: number;
  /** The lane that it waits in: of its branch and its class. */
  readonly lane: Lane;
  /** Undefined: it declared nothing. */
  load: Load | undefined;
  readonly component: string | undefined;
  readonly version: string | undefined;
  readonly of: unknown;

  constructor(
    number: number,
    lane: Lane,
    room: Room,
    load: Load | undefined,
    { component, version, of }: RequestOptions,
  ) {
    this.number = number;
    this.lane = lane;
    this.room = room;
    this.load = load;
    this.component = component;
    this.version = version;
    this.of = of;
  }

  /** Where it counts: in its update, or in the brood of its parent run (B3). */
  get branch(): BranchEntry {
    return this.lane.branch;
  }

  get update(): BranchEntry {
    return this.branch.isBrood ? this.branch.parent! : this.branch;
  }

  get runnerClass(): string | undefined {
    return this.room.name;
  }

  get loanOf(): Run | undefined {
    return this.borrowed?.lender;
  }
}

/** Runs in order of arrival, linked through themselves. */
export class RunList {
  first: RunEntry | undefined = undefined;
  last: RunEntry | undefined = undefined;

  /** At the end, but for followers that come back (A9), which walk past those that are older. */
  add(run: RunEntry): void {
    let next = this.last !== undefined && this.last.number > run.number ? this.first : undefined;
    while (next !== undefined && next.number < run.number) next = next.next;
    this.#link(next === undefined ? this.last : next.prev, run);
    this.#link(run, next);
  }

  remove({ prev, next }: RunEntry): void {
    this.#link(prev, next);
  }

  *[Symbol.iterator](): Generator<RunEntry> {
    for (let run = this.first; run !== undefined; run = run.next) yield run;
  }

  /** Neighbours from now on; undefined: the end of the list. */
  #link(prev: RunEntry | undefined, next: RunEntry | undefined): void {
    if (prev === undefined) this.first = next;
    else prev.next = next;
    if (next === undefined) this.last = prev;
    else next.prev = prev;
  }
}
