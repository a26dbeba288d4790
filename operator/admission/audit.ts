// Counts again the slow way what the tree keeps up to date (A3): tests call it after each step, the debug dump in production.
import { type BranchEntry, below, lanesOf } from './branch.ts';
import type { Lane } from './lane.ts';
import type { Rooms } from './rooms.ts';
import type { RunEntry } from './run.ts';

const COUNTS = ['waiting', 'heldSlots', 'rows', 'bytes', 'milliCards', 'loaded'] as const;

/** One sentence for each thing that does not hold; none when all is well. */
export function auditOf(pool: BranchEntry, rooms: Rooms): readonly string[] {
  const branches = [...below(pool)];
  const faults = branches.flatMap((branch) => [...faultsOfCounts(branch), ...lanesOf(branch).flatMap(faultsOfLane)]);
  const runs = branches.flatMap(grantedIn);
  for (const { name = 'any', number, used } of rooms.all) {
    const counted = runs.filter(({ room, isExecuting }) => room.number === number && isExecuting).length;
    if (counted !== used) faults.push(`class ${name} says ${used} used, ${counted} were counted`);
  }
  return [...faults, ...runs.flatMap(faultsOfRun)];
}

const grantedIn = ({ others }: BranchEntry): RunEntry[] => [...others].filter(({ state }) => state === 'granted');

/** B1. */
function faultsOfCounts(branch: BranchEntry): string[] {
  const counted = Object.fromEntries(COUNTS.map((what) => [what, 0])) as Record<(typeof COUNTS)[number], number>;
  for (const { load, borrowed, isExecuting } of [...below(branch)].flatMap(grantedIn)) {
    counted.heldSlots += borrowed ? 0 : 1;
    counted.rows += load.rows;
    counted.bytes += load.bytes;
    counted.milliCards += load.milliCards;
    counted.loaded += isExecuting && load.rows + load.bytes + load.milliCards > 0 ? 1 : 0;
  }
  for (const brood of below(branch)) counted.waiting += [...brood.waiters()].length;
  const wrong = COUNTS.filter((what) => branch[what] !== counted[what]);
  return wrong.map(
    (what) => `${branch.kind} ${branch.name} says ${branch[what]} ${what}, ${counted[what]} were counted`,
  );
}

/** N1, N2. */
function faultsOfLane(lane: Lane): string[] {
  const where = `the lane ${lane.need} of ${lane.branch.kind} ${lane.branch.name}`;
  const faults: string[] = [];
  const isQueued = lane.pos >= 0 && lane.above?.items[lane.pos] === lane;
  if (lane.above && isQueued !== lane.isOffering) faults.push(`${where} is ${isQueued ? '' : 'not '}queued`);
  for (const [index, item] of lane.items.entries()) {
    const parent = lane.items[(index - 1) >> 1];
    if (item.pos !== index || (parent && !parent.isBefore(item))) faults.push(`${where} is out of order at ${index}`);
  }
  for (const { number, prev } of lane)
    if (prev && prev.number > number) faults.push(`${where} serves run ${prev.number} before ${number}`);
  return faults;
}

/** L1, L2. */
function faultsOfRun({ number, borrowed, borrower, isExecuting, loan }: RunEntry): string[] {
  const faults: string[] = [];
  if (borrowed && borrowed.borrower?.number !== number) faults.push(`run ${number} uses a loan that names another`);
  if (loan?.borrower && loan.borrower.borrowed !== loan)
    faults.push(`run ${number} lends to ${borrower?.number} in vain`);
  if (isExecuting === (loan?.isWaiting === true)) faults.push(`run ${number} executes and waits for children at once`);
  return faults;
}
