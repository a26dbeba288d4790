// Limits on what runs in flight below the pool, or below a live source, have declared (A11). Off unless somebody sets one. (The third level,
// what the components of one `forEach` have in flight, is held where they are made: runner/execute/nested.ts.)
//   M1. A run passes a limit when it fits, or when all runs in flight below the limited branch that declared anything have mounted others. So
//       what is heavier than a limit runs alone under it, and parents can hold nobody up, whether they wait, go on, or never end.
//   M2. A run that does not pass closes the innermost branch whose limits stop it; siblings of that branch are served as if it did not wait.
//   M3. A closed branch starts nothing else until that run has started, so that no stream of lighter runs can hold it off for ever (F52):
//       whoever would be served below gives his place to it, be it a slot of the pool or the loan of his own parent. So it waits for no
//       parent to end, and no child waits here for a run that waits for the slot of the child's parent. It is closed only while that run's
//       class has room: else the others are served as if it did not wait (A12).
//   M4. Two closed branches never wait for each other: a run closes one at a time, and whichever closes opens those below it.
import type { BranchEntry } from './branch.ts';
import type { Rooms } from './rooms.ts';
import { type Load, NO_LOAD, type RunEntry } from './run.ts';

/** M1: the innermost branch on the run's path whose limits it does not pass. */
export function stopperOf({ load, branch }: RunEntry): BranchEntry | undefined {
  return load === NO_LOAD ? undefined : pathOf(branch).find((above) => !isPassing(load, above));
}

function isPassing(load: Load, { limits, loaded, rows, bytes }: BranchEntry): boolean {
  if (limits === undefined || loaded === 0) return true;
  const fits = (declared: number, inFlight: number, limit = Number.POSITIVE_INFINITY): boolean =>
    declared === 0 || inFlight + declared <= limit;
  return fits(load.rows, rows, limits.rows) && fits(load.bytes, bytes, limits.bytes);
}

/** The branch and all above it. */
function pathOf(branch: BranchEntry): BranchEntry[] {
  return branch.parent === undefined ? [branch] : [branch, ...pathOf(branch.parent)];
}

/** The branches that are closed for a run: on each path one at the most (M4). */
export class Closings {
  readonly #closed = new Set<BranchEntry>();

  /** M2, M4. */
  close(branch: BranchEntry, run: RunEntry): void {
    this.#open((other) => other.closedFor === run || pathOf(other).includes(branch));
    this.#closed.add(branch);
    branch.closeFor(run);
  }

  /** The run has started, or waits no more. */
  openFor(run: RunEntry): void {
    this.#open(({ closedFor }) => closedFor === run);
  }

  /** M3. */
  openWithoutRoom(rooms: Rooms): void {
    this.#open(({ closedFor }) => !rooms.hasRoom(closedFor!.room.number));
  }

  /** M3: the branch on the run's path that starts only the run that it is closed for. */
  above({ branch }: RunEntry): BranchEntry | undefined {
    return this.#closed.size === 0 ? undefined : pathOf(branch).find(({ closedFor }) => closedFor !== undefined);
  }

  #open(which: (branch: BranchEntry) => boolean): void {
    for (const branch of this.#closed) {
      if (!which(branch)) continue;
      this.#closed.delete(branch);
      branch.closeFor(undefined);
    }
  }
}
