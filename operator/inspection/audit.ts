// Counts again the slow way what the tree keeps up to date (A3): tests call it after each step, the dispatcher's audit in production.
import {
  type BranchInside,
  below,
  COUNTS,
  type Counts,
  type LaneInside,
  type RoomsInside,
  type RunInside,
  type TreeInside,
} from './inside.ts';

/** One sentence for each thing that does not hold; none when all is well. */
export function auditOf({ inside: { pool, rooms } }: TreeInside): readonly string[] {
  const branches = [...below(pool)];
  const runs = grantedBelow(pool);
  return [
    ...branches.flatMap(faultsOfCounts),
    ...branches.flatMap(({ lanes }) => lanes.flatMap(faultsOfLane)),
    ...faultsOfRooms(rooms, runs),
    ...runs.flatMap(faultsOfRun),
  ];
}

const grantedBelow = (top: BranchInside): RunInside[] =>
  [...below(top)].flatMap(({ others }) => [...others].filter(({ state }) => state === 'granted'));

/** B1. */
function faultsOfCounts(branch: BranchInside): string[] {
  const counted: Counts = { waiting: 0, heldSlots: 0, rows: 0, bytes: 0, milliCards: 0, loaded: 0 };
  for (const { waiters } of below(branch)) counted.waiting += waiters.length;
  for (const { load, borrowed, loan } of grantedBelow(branch)) {
    if (!borrowed) counted.heldSlots++;
    if (!load) continue;
    if (!loan) counted.loaded++;
    for (const what of ['rows', 'bytes', 'milliCards'] as const) counted[what] += load[what];
  }
  const { kind, name } = branch;
  return COUNTS.filter((what) => branch[what] !== counted[what]).map(
    (what) => `${kind} ${name} says ${branch[what]} ${what}, ${counted[what]} were counted`,
  );
}

/** N1, N2, and runs in order of arrival. */
function faultsOfLane(lane: LaneInside): string[] {
  const { above, items, pos, branch } = lane;
  const queue = [...lane.queue];
  const isQueued = pos >= 0 && above?.items[pos] === lane;
  const isWrong =
    (above && isQueued !== lane.isOffering) ||
    items.some((item, at) => item.pos !== at || (at > 0 && !items[(at - 1) >> 1]!.isBefore(item))) ||
    queue.some(({ number }, at) => at > 0 && queue[at - 1]!.number > number);
  return isWrong ? [`the lane ${lane.need} of ${branch.kind} ${branch.name} is out of order`] : [];
}

/** A12. */
function faultsOfRooms(rooms: RoomsInside, runs: readonly RunInside[]): string[] {
  const executingIn = (room: number): number =>
    runs.filter((run) => run.room.number === room && run.isExecuting).length;
  return rooms.all
    .filter(({ number, used }) => used !== executingIn(number))
    .map(({ name = 'any', number, used }) => `class ${name} says ${used} used, ${executingIn(number)} were counted`);
}

/** L1, L2. */
function faultsOfRun(run: RunInside): string[] {
  const { number, borrowed, loan, isExecuting } = run;
  const faults: string[] = [];
  if (borrowed && borrowed.borrower !== run) faults.push(`run ${number} uses a loan that names another`);
  if (loan?.borrower && loan.borrower.borrowed !== loan) faults.push(`run ${number} lends in vain`);
  if (isExecuting === (loan?.isWaiting === true)) faults.push(`run ${number} executes and waits for children at once`);
  return faults;
}
