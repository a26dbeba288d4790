// Limits on what runs in flight below the pool, or below a live source, have declared (A11). Off unless somebody sets one. (The third level,
// what the components of one `forEach` have in flight, is held where they are made: runner/execute/nested.ts.)
//   M1. A run passes a limit when it fits, or when all runs in flight below the limited branch that declared anything have mounted others. So
//       what is heavier than a limit runs alone under it, and parents can hold nobody up, whether they wait, go on, or never end.
//   M2. A run that does not pass closes the innermost branch whose limits stop it; siblings of that branch are served as if it did not wait.
//   M3. A closed branch starts nothing else until that run has started, so that no stream of lighter runs can hold it off for ever (F52):
//       whoever would be served below gives his place to it, be it a slot of the pool or the loan of his own parent. So it waits for no
//       parent to end, and no child waits here for a run that waits for the slot of the child's parent. It opens when somebody could start
//       while that run's class has no room: then the others are served as if it did not wait (A12).
//   M4. Two closed branches never wait for each other: a run closes one at a time, and whichever closes opens those below it.
import type { BranchEntry } from './branch.ts';
import type { Load, RunEntry } from './run.ts';

const LIMITED = ['rows', 'bytes'] as const;

/** M1: the innermost branch on the run's path whose limits it does not pass. */
export function stopperOf({ load, branch }: RunEntry): BranchEntry | undefined {
  return load && pathOf(branch).find((above) => above.loaded > 0 && LIMITED.some((what) => isOver(what, load, above)));
}

function isOver(what: (typeof LIMITED)[number], load: Load, branch: BranchEntry): boolean {
  const limit = branch.limits?.[what] ?? Number.POSITIVE_INFINITY;
  return load[what] > 0 && branch[what] + load[what] > limit;
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
    this.open((other, below) => other === run || pathOf(below).includes(branch));
    this.#closed.add(branch);
    branch.closeFor(run);
  }

  /** M3: the branch on the run's path that starts only the run that it is closed for. */
  above({ branch }: RunEntry): BranchEntry | undefined {
    return this.#closed.size === 0 ? undefined : pathOf(branch).find(({ closedFor }) => closedFor !== undefined);
  }

  /** For a run that has started or waits no more, or whose class has no room (M3). */
  open(which: (run: RunEntry, branch: BranchEntry) => boolean): void {
    for (const branch of this.#closed) {
      if (!which(branch.closedFor!, branch)) continue;
      this.#closed.delete(branch);
      branch.closeFor(undefined);
    }
  }
}
