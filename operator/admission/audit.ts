// Counts again the slow way what the tree keeps up to date (A3): tests call it after each step, the debug dump in production.
import { type BranchEntry, Brood, below, type Lane } from './branch.ts';
import type { Rooms } from './rooms.ts';
import type { RunEntry } from './run.ts';

type Counts = Pick<
  BranchEntry,
  'waiting' | 'heldSlots' | 'inFlight' | 'executing' | 'rows' | 'bytes' | 'milliCards' | 'loaded'
>;

/** One sentence for each thing that does not hold; none when all is well. */
export function auditOf(pool: BranchEntry, rooms: Rooms): readonly string[] {
  const faults: string[] = [];
  for (const branch of below(pool)) {
    for (const [what, counted] of Object.entries(countsOf(branch)))
      if (branch[what as keyof Counts] !== counted)
        faults.push(
          `${branch.kind} ${branch.name} says ${branch[what as keyof Counts]} ${what}, ${counted} were counted`,
        );
    for (let lane = branch.lanes; lane; lane = lane.sibling) faults.push(...faultsOf(lane));
  }
  const runs = [...below(pool)].flatMap((branch) => (branch instanceof Brood ? [...branch.granted] : []));
  for (const room of rooms.all) {
    const used = runs.filter((run) => run.room === room && run.isExecuting).length;
    if (used !== room.used) faults.push(`class ${room.name ?? 'any'} says ${room.used} used, ${used} were counted`);
  }
  for (const run of runs) faults.push(...faultsOfRun(run));
  return faults;
}

function countsOf(branch: BranchEntry): Counts {
  const broods = [...below(branch)].filter((entry) => entry instanceof Brood);
  const granted = broods.flatMap((brood) => [...brood.granted]);
  const sum = (amount: (run: RunEntry) => number): number => granted.reduce((total, run) => total + amount(run), 0);
  return {
    waiting: broods.flatMap((brood) => brood.waiters()).filter(({ state }) => state === 'waiting').length,
    heldSlots: granted.filter(({ borrowed }) => !borrowed).length,
    inFlight: granted.length,
    executing: granted.filter(({ isExecuting }) => isExecuting).length,
    rows: sum(({ load }) => load.rows),
    bytes: sum(({ load }) => load.bytes),
    milliCards: sum(({ load }) => load.milliCards),
    loaded: granted.filter(({ isExecuting, load }) => isExecuting && load.rows + load.bytes + load.milliCards > 0)
      .length,
  };
}

/** N1, N2, and the heap's order. */
function faultsOf(lane: Lane): readonly string[] {
  const where = `the lane ${lane.need} of ${lane.branch.kind} ${lane.branch.name}`;
  const head = lane.runs ? (lane.runs.sorted()[0]?.number ?? 0) : (lane.items[0]?.head ?? 0);
  const isQueued = lane.above?.items[lane.pos] === lane;
  const faults: string[] = [];
  if (lane.head !== head) faults.push(`${where} says that run ${lane.head} is first, it is ${head}`);
  if (lane.above && isQueued !== (head > 0 && !lane.isStopped))
    faults.push(`${where} is ${isQueued ? '' : 'not '}queued`);
  for (const [index, item] of lane.items.entries()) {
    const parent = lane.items[(index - 1) >> 1];
    if (item.pos !== index || (parent && lane.compare(item, parent) <= 0))
      faults.push(`${where} is out of order at ${index}`);
  }
  return faults;
}

/** L1, L2. */
function faultsOfRun(run: RunEntry): readonly string[] {
  const faults: string[] = [];
  if (run.borrowed && run.borrowed.borrower !== run)
    faults.push(`run ${run.number} uses a loan that names another borrower`);
  if (run.loan?.borrower && run.loan.borrower.borrowed !== run.loan)
    faults.push(`run ${run.number} lends to a run that does not borrow`);
  if (run.isExecuting === (run.loan?.isWaiting === true))
    faults.push(`run ${run.number} executes and waits for children at once`);
  return faults;
}
