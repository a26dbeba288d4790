// A run as the tree keeps it, and lists of runs.
// A run is in one place only: in a lane (it waits), or in its brood's list of followers or of runs in flight. One pair of links is
// therefore enough, and a run that waits stays small.
import type { Brood } from './branch.ts';
import type { Placed } from './heap.ts';
import type { Loan } from './loan.ts';
import type { Room } from './rooms.ts';
import type { Branch, Run, RunState } from './types.ts';

/** What a run declared (A11). */
export interface Load {
  readonly rows: number;
  readonly bytes: number;
  readonly milliCards: number;
}

/** Shared by all runs that declare nothing. */
export const NO_LOAD: Load = { rows: 0, bytes: 0, milliCards: 0 };

export class RunEntry implements Run, Placed {
  readonly number: number;
  readonly brood: Brood;
  readonly load: Load;
  readonly component: string | undefined;
  readonly version: string | undefined;
  readonly of: unknown;
  /** Class that it asks for; once granted, the class whose room it takes. */
  room: Room;
  state: RunState = 'waiting';
  isExecuting = false;
  /** The loan that it uses. Granted without one: the slot is its own. */
  borrowed: Loan | undefined = undefined;
  /** The loan that it gives, made when it mounts its first child. */
  loan: Loan | undefined = undefined;
  /** The next run of its component (A9). */
  twin: RunEntry | undefined = undefined;
  prev: RunEntry | undefined = undefined;
  next: RunEntry | undefined = undefined;
  pos = -1;

  constructor(
    number: number,
    brood: Brood,
    room: Room,
    load: Load,
    identity: { readonly component?: string; readonly version?: string; readonly of?: unknown },
  ) {
    this.number = number;
    this.brood = brood;
    this.room = room;
    this.load = load;
    this.component = identity.component;
    this.version = identity.version;
    this.of = identity.of;
  }

  get update(): Branch {
    return this.brood.parent;
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

/** Runs in order of arrival, linked through the runs themselves. */
export class RunList {
  first: RunEntry | undefined = undefined;
  last: RunEntry | undefined = undefined;

  push(run: RunEntry): void {
    run.prev = this.last;
    if (this.last) this.last.next = run;
    else this.first = run;
    this.last = run;
  }

  remove(run: RunEntry): void {
    if (run.prev) run.prev.next = run.next;
    else this.first = run.next;
    if (run.next) run.next.prev = run.prev;
    else this.last = run.prev;
    run.prev = undefined;
    run.next = undefined;
  }

  *[Symbol.iterator](): Generator<RunEntry> {
    for (let run = this.first; run; run = run.next) yield run;
  }
}
