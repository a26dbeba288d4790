// What callers say to the tree and what it answers. All of it is data; nothing here can change the tree.
import type { ServingRule } from './rules.ts';

/** What a branch's holding is counted in when branches are compared (A11). */
export type Cost = 'slots' | 'bytes' | 'dominant-share';

/** Bounds on what the runs in flight below one branch have declared (A11). Absent: no bound. Whole numbers of 1 or more. */
export interface Limits {
  readonly rows?: number;
  readonly bytes?: number;
}

export interface TreeOptions {
  /** Runs that may hold a slot at once: an integer from 1 to 1,000,000. */
  readonly slots: number;
  /** Absent: fewest held first. */
  readonly rule?: ServingRule;
  /** Absent: slots. */
  readonly cost?: Cost;
  /** Limits of the whole pool. */
  readonly limits?: Limits;
  /** Thousandths of cards that runs can declare in all; only the dominant share looks at it. */
  readonly milliCards?: number;
  /** Runs that each class of runner can execute at once (A12). Absent: runs need no class. */
  readonly rooms?: Readonly<Record<string, number>>;
}

export interface SourceOptions {
  /** 1 to 1,000; absent: 1 (A11). */
  readonly weight?: number;
  readonly limits?: Limits;
  /** Run that mounted the live source: its updates borrow that run's slot while it lasts (A8). */
  readonly mountedBy?: Run;
}

export interface RequestOptions {
  /** Parent run: keeps its slot and lends it (A7). Absent: a root run of its update. */
  readonly lender?: Run;
  /** Class of runner that is needed; absent: any (A12). */
  readonly runnerClass?: string;
  /** What the run declares for limits and costs (A11). Absent: nothing. */
  readonly rows?: number;
  readonly bytes?: number;
  readonly milliCards?: number;
  /** Identity of what it executes: one run of a component executes at a time (A9). Absent: unlike any other. */
  readonly component?: string;
  /** Runs of one component with equal versions share one outcome; absent: never shared. */
  readonly version?: string;
  /** Whatever the caller wants to find again at the run; the tree never looks at it. */
  readonly of?: unknown;
}

/**
 * `waiting`: for a slot, for room in its class or under a limit. `following`: for another run of its component (A9).
 * `granted`: in flight, until it is released. `ended`: released, withdrawn, or served by another's outcome.
 */
export type RunState = 'waiting' | 'following' | 'granted' | 'ended';

/** A wish to execute, and once granted the thing to give back. */
export interface Run {
  /** Arrival number: runs that ask later have greater ones. */
  readonly number: number;
  readonly state: RunState;
  /** What the caller gave with the request. */
  readonly of: unknown;
  readonly update: Branch;
  /** Class whose room it takes while it executes; absent while it waits for any class, or where no classes are set. */
  readonly runnerClass: string | undefined;
  /** Run whose slot it uses; absent when the slot is its own (A7). */
  readonly loanOf: Run | undefined;
  /** In flight and not waiting for children (A4, A12). */
  readonly isExecuting: boolean;
}

export interface Branch {
  /** Order of opening. */
  readonly number: number;
  readonly kind: 'pool' | 'source' | 'update';
  readonly name: string;
}

/** What a release caused, each list in order. */
export interface Released {
  readonly granted: readonly Run[];
  /** Followers that the outcome of the released run serves too: they have ended (A9). */
  readonly reused: readonly Run[];
}

export interface Requested {
  readonly run: Run;
  /** What the request caused: usually nothing, or the run itself. A parent that begins to wait may make room for others (A12). */
  readonly granted: readonly Run[];
}

export interface Removed {
  /** Runs of the branch that waited or followed: they have ended. */
  readonly withdrawn: readonly Run[];
  readonly granted: readonly Run[];
}
