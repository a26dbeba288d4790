// Limits on what runs in flight have declared (A11), and shares of slots where the rule has such. Off unless somebody sets one.
//   M1. A run passes a limit when it fits, or when all runs in flight below the limited branch that declared anything have mounted others. So
//       what is heavier than a limit runs alone under it, and parents can hold nobody up, whether they wait, go on, or never end.
//   M2. A run that does not pass closes the innermost branch whose limits stop it; siblings of that branch are served as if it did not wait.
//   M3. A closed branch starts nothing else until that run has started, so that no stream of lighter runs can hold it off for ever (F52). But
//       only while the run has all it needs apart from the limit (room in its class; a slot, or its parent's loan): a child never waits here
//       for a run that waits for the slot of the child's parent.
//   M4. Two closed branches never wait for each other: a run closes one branch at a time, and of two that lie on one path the outer decides.
import type { BranchEntry } from './branch.ts';
import { NO_LOAD, type RunEntry } from './run.ts';

/** M1: the innermost branch on the run's path whose limits it does not pass. */
export function stopperOf(run: RunEntry): BranchEntry | undefined {
  return pathOf(run).find((branch) => !isPassing(run, branch));
}

/** The outermost branch on its path that is closed for another run. */
export function closedAbove(run: RunEntry): BranchEntry | undefined {
  return pathOf(run).findLast(({ closedFor }) => closedFor !== undefined && closedFor !== run);
}

/** The branches that are closed for a run. */
export class Closings {
  readonly #closed = new Set<BranchEntry>();

  /** M2, M4. */
  close(branch: BranchEntry, run: RunEntry): void {
    this.reopenFor(run);
    branch.closedFor = run;
    branch.isStopped = true;
    this.#closed.add(branch);
    branch.settle();
  }

  /** The run has started, or waits no more. */
  reopenFor(run: RunEntry): void {
    for (const branch of this.#closed) if (branch.closedFor === run) this.#reopen(branch);
  }

  /** M3: branches whose run could not start anyway hold nobody up. */
  passOver(isOpen: readonly boolean[]): void {
    for (const branch of this.#closed) {
      const hasOthers = branch.lanes.some((lane) => isOpen[lane.need] && lane.first !== undefined);
      if (!branch.isStopped || !hasOthers || canStart(branch.closedFor!, isOpen)) continue;
      branch.isStopped = false;
      branch.settle();
    }
  }

  #reopen(branch: BranchEntry): void {
    branch.closedFor = undefined;
    branch.isStopped = false;
    this.#closed.delete(branch);
    branch.settle();
  }
}

/** M3: whether it has all that it needs, apart from limits. A free slot will do for who could have a loan. */
function canStart({ lane, branch }: RunEntry, isOpen: readonly boolean[]): boolean {
  return isOpen[lane.need] === true || (branch.loan?.isIdle === true && isOpen[lane.need + 1] === true);
}

/** M3: the run that a closed branch has to start next. */
export function heirOf({ closedFor }: BranchEntry, isOpen: readonly boolean[]): RunEntry | undefined {
  return closedFor !== undefined && canStart(closedFor, isOpen) ? closedFor : undefined;
}

function isPassing(
  { load, branch }: RunEntry,
  { limits, loaded, rows, bytes, heldSlots, slotsMax }: BranchEntry,
): boolean {
  if (heldSlots >= slotsMax && !branch.loan?.isIdle) return false;
  if (limits === undefined || load === NO_LOAD || loaded === 0) return true;
  const fits = (declared: number, inFlight: number, limit = Number.POSITIVE_INFINITY): boolean =>
    declared === 0 || inFlight + declared <= limit;
  return fits(load.rows, rows, limits.rows) && fits(load.bytes, bytes, limits.bytes);
}

/** Its branch and all above it. */
function pathOf(run: RunEntry): BranchEntry[] {
  const path: BranchEntry[] = [];
  for (let branch: BranchEntry | undefined = run.branch; branch; branch = branch.parent) path.push(branch);
  return path;
}
