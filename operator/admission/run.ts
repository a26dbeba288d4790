// A run as the tree keeps it, and the lists that runs stand in.
// A run is in one list at a time: in the queue of its lane while it waits, else among the others of its branch. One pair of links is
// therefore enough, and a run that waits stays small.
import type { BranchEntry } from './branch.ts';
import type { Lane } from './lane.ts';
import type { Loan } from './loan.ts';
import type { Room } from './rooms.ts';
import type { RequestOptions, Run, RunState } from './types.ts';

/** What a run declared (A11). */
export type Load = Readonly<Record<'rows' | 'bytes' | 'milliCards', number>>;

/** Shared by all runs that declare nothing. */
export const NO_LOAD: Load = { rows: 0, bytes: 0, milliCards: 0 };

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
  readonly load: Load;
  readonly component: string | undefined;
  readonly version: string | undefined;
  readonly of: unknown;

  constructor(number: number, lane: Lane, room: Room, load: Load, { component, version, of }: RequestOptions) {
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

  /** The loan that it could start on now. */
  get idleLoan(): Loan | undefined {
    const { loan } = this.branch;
    return loan?.isIdle ? loan : undefined;
  }

  get runnerClass(): string | undefined {
    return this.room.name;
  }

  get loanOf(): Run | undefined {
    return this.borrowed?.lender;
  }

  get borrower(): Run | undefined {
    return this.loan?.borrower;
  }
}

/** Runs linked through themselves. */
export class RunList {
  first: RunEntry | undefined = undefined;
  last: RunEntry | undefined = undefined;

  /** At the end, or before another run of the list. */
  add(run: RunEntry, next?: RunEntry): void {
    const prev = next === undefined ? this.last : next.prev;
    run.prev = prev;
    run.next = next;
    if (prev === undefined) this.first = run;
    else prev.next = run;
    if (next === undefined) this.last = run;
    else next.prev = run;
  }

  /** In order of arrival: at the end, but for followers that come back (A9), which walk past those that are older. */
  insert(run: RunEntry): void {
    let next = this.last !== undefined && this.last.number > run.number ? this.first : undefined;
    while (next !== undefined && next.number < run.number) next = next.next;
    this.add(run, next);
  }

  remove({ prev, next }: RunEntry): void {
    if (prev === undefined) this.first = next;
    else prev.next = next;
    if (next === undefined) this.last = prev;
    else next.prev = prev;
  }

  *[Symbol.iterator](): Generator<RunEntry> {
    for (let run = this.first; run !== undefined; run = run.next) yield run;
  }
}
