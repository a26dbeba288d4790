// A run as the tree keeps it, and the two kinds of order that runs stand in.
// A run is in one place only: in the queue of its lane while it waits, else in one of its brood's lists. One pair of links is therefore
// enough, and a run that waits stays small.
import type { Brood, Lane } from './branch.ts';
import { type Heap, type Placed, push, remove } from './heap.ts';
import type { Loan } from './loan.ts';
import type { Room } from './rooms.ts';
import type { Branch, RequestOptions, Run, RunState } from './types.ts';

/** What a run declared (A11). */
export interface Load {
  readonly rows: number;
  readonly bytes: number;
  readonly milliCards: number;
}

/** Shared by all runs that declare nothing. */
export const NO_LOAD: Load = { rows: 0, bytes: 0, milliCards: 0 };

export class RunEntry implements Run, Placed {
  state: RunState = 'waiting';
  pos = -1;
  readonly number: number;
  readonly lane: Lane;
  readonly brood: Brood;
  prev: RunEntry | undefined = undefined;
  next: RunEntry | undefined = undefined;
  readonly load: Load;
  readonly component: string | undefined;
  readonly version: string | undefined;
  readonly of: unknown;
  isExecuting = false;
  /** Its lane's class; once granted, the class whose room it takes. */
  room: Room;
  /** The loan that it uses. Granted without one: the slot is its own. */
  borrowed: Loan | undefined = undefined;
  /** The loan that it gives, made when it mounts its first child. */
  loan: Loan | undefined = undefined;

  constructor(number: number, brood: Brood, room: Room, load: Load, options: RequestOptions) {
    this.number = number;
    this.brood = brood;
    this.lane = brood.laneOf(room);
    this.room = room;
    this.load = load;
    this.component = options.component;
    this.version = options.version;
    this.of = options.of;
  }

  get update(): Branch {
    return this.brood.update;
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

/** Runs in the order in which they came, linked through the runs themselves. */
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

/** Runs that wait, by arrival number. Those that come back from following another (A9) are older than the end of the list: a heap keeps them. */
export class RunQueue extends RunList implements Heap<RunEntry> {
  items: RunEntry[] = NONE;

  get head(): RunEntry | undefined {
    const back = this.items[0];
    return back && (!this.first || back.number < this.first.number) ? back : this.first;
  }

  compare(a: RunEntry, b: RunEntry): number {
    return a.number - b.number;
  }

  override push(run: RunEntry): void {
    if (!this.last || this.last.number < run.number) super.push(run);
    else {
      if (this.items === NONE) this.items = [];
      push(this, run);
    }
  }

  override remove(run: RunEntry): void {
    if (run.pos < 0) super.remove(run);
    else remove(this, run);
  }

  /** Oldest first; slow. */
  sorted(): readonly RunEntry[] {
    return [...this, ...this.items].sort(this.compare);
  }
}

const NONE: RunEntry[] = [];
