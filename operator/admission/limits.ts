// Limits on what runs in flight have declared (A11). Off unless somebody sets one.
//   M1. A run passes a limit when it fits, or when no executing run below the limited branch has declared anything: so what is heavier
//       than a limit runs alone, and parents that wait for their children cannot block them.
//   M2. A run that does not pass stops its branch for runs of its need; siblings of that branch are served as if it did not wait.
//   M3. The run that a branch stopped first may be overtaken OVERTAKES_MAX times below it. After that the branch holds: nothing else
//       that declared something starts below it before that run has (F52 asks for such a bound).
//   M4. Holds do not cross: a run that an outer branch holds for ignores the holds of inner ones.
import type { BranchEntry } from './branch.ts';
import { NO_LOAD, type RunEntry } from './run.ts';

/** Large enough that a small update passes a big one freely, small enough to bound the wait of a run that never fits in. */
export const OVERTAKES_MAX = 64;

/** A run that a branch stopped, and how many started below the branch since. */
export interface Owed {
  readonly run: RunEntry;
  overtaken: number;
}

/** The innermost branch on the run's path whose limits it does not pass. */
export function stopperOf(run: RunEntry): BranchEntry | undefined {
  const takesSlot = !run.brood.loan?.isIdle;
  let holder = holderFor(run);
  for (let branch: BranchEntry | undefined = run.brood; branch; branch = branch.parent) {
    if (takesSlot && branch.heldSlots >= branch.slotsMax) return branch;
    if (run.load !== NO_LOAD) {
      if (!holder && isHolding(branch)) return branch;
      if (!fits(branch, run)) return branch;
    }
    if (branch === holder) holder = undefined;
  }
  return undefined;
}

/** Remembers the run if it is the oldest one that the branch owes a start. */
export function owe(branch: BranchEntry, run: RunEntry): void {
  if (!branch.owed || run.number < branch.owed.run.number) branch.owed = { run, overtaken: 0 };
}

/** M3. A class that has lost its runners holds nobody up. */
export function isHolding(branch: BranchEntry): boolean {
  return branch.owed !== undefined && branch.owed.overtaken >= OVERTAKES_MAX && branch.owed.run.room.size > 0;
}

function fits(branch: BranchEntry, run: RunEntry): boolean {
  const { limits, loaded } = branch;
  if (!limits || loaded === 0) return true;
  const { rows, bytes } = limits;
  const { load } = run;
  const fitsRows = rows === undefined || load.rows === 0 || branch.rows + load.rows <= rows;
  const fitsBytes = bytes === undefined || load.bytes === 0 || branch.bytes + load.bytes <= bytes;
  return fitsRows && fitsBytes;
}

/** The outermost branch that holds for this run. */
function holderFor(run: RunEntry): BranchEntry | undefined {
  let holder: BranchEntry | undefined;
  for (let branch: BranchEntry | undefined = run.brood; branch; branch = branch.parent)
    if (branch.owed?.run === run && isHolding(branch)) holder = branch;
  return holder;
}
