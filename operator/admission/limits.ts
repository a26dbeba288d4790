// Limits on what runs in flight have declared (A11). Off unless somebody sets one.
//   M1. A run passes a limit when it fits, or when no executing run below the limited branch has declared anything. So what is heavier than
//       a limit runs alone under it, and parents that wait for their children cannot block them.
//   M2. A run that does not pass closes the innermost branch whose limits stop it; siblings of that branch are served as if it did not wait.
//   M3. A closed branch starts nothing else until that run has started, so that no stream of lighter runs can hold it off for ever (F52). But
//       only while the run has all it needs apart from the limit (room in its class; a slot, or its parent's loan): a child never waits here
//       for a run that waits for the slot of the child's parent.
//   M4. Two closed branches never wait for each other: where both lie above both runs, the later closing undoes the earlier.
import type { BranchEntry } from './branch.ts';
import { type Load, NO_LOAD, type RunEntry } from './run.ts';

/** M1: the innermost branch on the run's path whose limits it does not pass. */
export function stopperOf(run: RunEntry): BranchEntry | undefined {
  if (run.load === NO_LOAD) return undefined;
  for (let branch: BranchEntry | undefined = run.branch; branch; branch = branch.parent)
    if (!isPassing(branch, run.load)) return branch;
  return undefined;
}

/** Whether the rule lets each branch on the path hold one more slot. */
export function isBelowShares(from: BranchEntry): boolean {
  for (let branch: BranchEntry | undefined = from; branch; branch = branch.parent)
    if (branch.heldSlots >= branch.slotsMax) return false;
  return true;
}

export function isBelow(run: RunEntry, top: BranchEntry): boolean {
  for (let branch: BranchEntry | undefined = run.branch; branch; branch = branch.parent)
    if (branch === top) return true;
  return false;
}

/** The outermost branch on its path that is closed for another run. */
export function closedAbove(run: RunEntry): BranchEntry | undefined {
  let closed: BranchEntry | undefined;
  for (let branch: BranchEntry | undefined = run.branch; branch; branch = branch.parent)
    if (branch.closedFor && branch.closedFor !== run) closed = branch;
  return closed;
}

function isPassing({ limits, loaded, rows, bytes }: BranchEntry, load: Load): boolean {
  if (!limits || loaded === 0) return true;
  const fitsRows = limits.rows === undefined || load.rows === 0 || rows + load.rows <= limits.rows;
  return fitsRows && (limits.bytes === undefined || load.bytes === 0 || bytes + load.bytes <= limits.bytes);
}
