// Counts again the slow way what the tree keeps up to date (A3): tests call it after each step, the debug dump in production.
import { type BranchEntry, below } from './branch.ts';
import type { Lane } from './lane.ts';
import type { Rooms } from './rooms.ts';
import type { RunEntry } from './run.ts';

const COUNTS = ['waiting', 'heldSlots', 'rows', 'bytes', 'milliCards', 'loaded'] as const;

/** One sentence for each thing that does not hold; none when all is well. */
export function auditOf(pool: BranchEntry, rooms: Rooms): readonly string[] {
  const branches = [...below(pool)];
  const runs = grantedBelow(pool);
  const wrongRooms = rooms.all.filter(({ number, used }) => used !== executingIn(number, runs));
  return [
    ...branches.flatMap(faultsOfCounts),
    ...branches.flatMap(({ lanes }) => lanes.flatMap(faultsOfLane)),
    ...wrongRooms.map(({ name = 'any', number, used }) => {
      return `class ${name} says ${used} used, ${executingIn(number, runs)} were counted`;
    }),
    ...runs.flatMap(faultsOfRun),
  ];
}

const executingIn = (room: number, runs: readonly RunEntry[]): number =>
  runs.filter((run) => run.room.number === room && run.isExecuting).length;

const grantedBelow = (top: BranchEntry): RunEntry[] =>
  [...below(top)].flatMap(({ others }) => [...others].filter(({ state }) => state === 'granted'));

/** B1. */
function faultsOfCounts(branch: BranchEntry): string[] {
  const counted = { waiting: 0, heldSlots: 0, rows: 0, bytes: 0, milliCards: 0, loaded: 0 };
  for (const { waiters } of below(branch)) counted.waiting += waiters.length;
  for (const { load, borrowed, loan } of grantedBelow(branch)) {
    if (!borrowed) counted.heldSlots++;
    if (!loan && load.rows + load.bytes + load.milliCards > 0) counted.loaded++;
    for (const what of ['rows', 'bytes', 'milliCards'] as const) counted[what] += load[what];
  }
  const { kind, name } = branch;
  return COUNTS.filter((what) => branch[what] !== counted[what]).map(
    (what) => `${kind} ${name} says ${branch[what]} ${what}, ${counted[what]} were counted`,
  );
}

/** N1, N2, and runs in order of arrival. */
function faultsOfLane(lane: Lane): string[] {
  const { above, items, pos, queue } = lane;
  const isQueued = pos >= 0 && above?.items[pos] === lane;
  const isWrong =
    (above && isQueued !== lane.isOffering) ||
    items.some((item, at) => item.pos !== at || (at > 0 && !items[(at - 1) >> 1]!.isBefore(item))) ||
    [...queue].some(({ number, prev }) => prev && prev.number > number);
  return isWrong ? [`the lane ${lane.need} of ${lane.branch.kind} ${lane.branch.name} is out of order`] : [];
}

/** L1 to L3. */
function faultsOfRun(run: RunEntry): string[] {
  const { number, borrowed, loan, isExecuting } = run;
  const faults: string[] = [];
  if (borrowed && borrowed.borrower !== run) faults.push(`run ${number} uses a loan that names another`);
  if (loan?.borrower && loan.borrower.borrowed !== loan) faults.push(`run ${number} lends in vain`);
  if (loan && loan.isIdle !== (loan.isOpen && !loan.borrower)) faults.push(`run ${number} hides its idle loan`);
  if (isExecuting === (loan?.isWaiting === true)) faults.push(`run ${number} executes and waits for children at once`);
  return faults;
}
