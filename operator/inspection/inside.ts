// The admission tree as this room sees it: read-only, and only what an answer needs. The tree's own entries fit these shapes (`inside`).
import type { Branch, Limits, Run } from '../admission/index.ts';

export interface TreeInside {
  readonly slots: number;
  readonly inside: Inside;
  runsOf(component: string): readonly Run[];
}

interface Inside {
  readonly pool: BranchInside;
  readonly rooms: RoomsInside;
  readonly closings: { above(run: RunInside): BranchInside | undefined };
  stopperOf(run: RunInside): BranchInside | undefined;
  runOf(run: Run): RunInside;
}

export interface RoomsInside {
  readonly all: readonly RoomInside[];
  hasRoom(number: number): boolean;
}

interface RoomInside {
  readonly number: number;
  readonly name: string | undefined;
  readonly size: number;
  readonly used: number;
}

/** What is counted for a branch, of all below it. */
export const COUNTS = ['waiting', 'heldSlots', 'rows', 'bytes', 'milliCards', 'loaded'] as const;
export type Counts = Record<(typeof COUNTS)[number], number>;

export interface BranchInside extends Branch, Readonly<Counts> {
  readonly held: number;
  readonly since: number;
  readonly weight: number;
  readonly limits: Limits | undefined;
  readonly closedFor: RunInside | undefined;
  readonly rule: unknown;
  readonly parent: BranchInside | undefined;
  readonly children: Iterable<BranchInside>;
  readonly lanes: readonly LaneInside[];
  /** Its own runs that wait. */
  readonly waiters: readonly RunInside[];
  /** Its own runs that are in flight or follow others. */
  readonly others: Iterable<RunInside>;
  readonly loan: LoanInside | undefined;
}

export interface LaneInside {
  readonly branch: BranchInside;
  readonly need: number;
  readonly isLoan: boolean;
  readonly isOffering: boolean;
  readonly pos: number;
  readonly items: readonly LaneInside[];
  readonly above: LaneInside | undefined;
  readonly queue: Iterable<RunInside>;
  readonly held: number;
  readonly since: number;
  readonly weight: number;
  isBefore(other: LaneInside): boolean;
}

export interface LoanInside {
  readonly lender: RunInside;
  readonly borrower: RunInside | undefined;
  readonly isWaiting: boolean;
}

export interface RunInside extends Run {
  readonly update: BranchInside;
  readonly branch: BranchInside;
  readonly lane: LaneInside;
  readonly room: RoomInside;
  readonly load: Readonly<Record<'rows' | 'bytes' | 'milliCards', number>> | undefined;
  readonly component: string | undefined;
  readonly borrowed: LoanInside | undefined;
  readonly loan: LoanInside | undefined;
}

/** A branch and all below it, parents before children, in order of opening. */
export function* below(branch: BranchInside): Generator<BranchInside> {
  yield branch;
  for (const child of branch.children) yield* below(child);
}
