// Why a run waits, from the same keys that decide: what it waits for, who comes first at each level, and how many grants that makes.
import { type BranchEntry, below, lanesOf } from './branch.ts';
import type { Lane } from './lane.ts';
import { closedAbove, stopperOf } from './limits.ts';
import type { Rooms } from './rooms.ts';
import { type Contender, fewestHeldFirst } from './rules.ts';
import type { RunEntry } from './run.ts';

/** What a decision compares of a branch (A2, A11). */
export interface Standing {
  readonly kind: 'pool' | 'source' | 'update';
  readonly name: string;
  readonly held: number;
  readonly weight: number;
  /** Arrival number at which its spell of waiting began. */
  readonly since: number;
}

/** One level of the way down to the run: its branch there, and the branches that are served before it. */
export interface Level {
  readonly branch: Standing;
  readonly ahead: readonly Standing[];
}

/** How long recent runs took, as the caller measured it: the tree has no clock. */
export interface RunHistory {
  readonly runs: number;
  readonly meanRunMs: number;
}

export interface Explanation {
  /**
   * `component`: for another run of its component. `class`: for room in its class of runner. `limit`: a limit on rows or bytes stops it.
   * `slot`: for a slot. `nothing`: it does not wait.
   */
  readonly waitsFor: 'nothing' | 'component' | 'class' | 'limit' | 'slot';
  /** The class without room, the limited branch, or the number of the run that it follows. */
  readonly of?: string;
  /** From the pool down to its update. */
  readonly levels: readonly Level[];
  /** Older runs of its update that wait. */
  readonly olderRuns: number;
  /**
   * Grants that pass before its own at the least, whichever runs end next: even if they are all its own branch's. New requests only add to
   * it. It falls when runs that wait are withdrawn, when settings change, and when a limit stops those ahead.
   */
  readonly grantsBefore: number;
  /** Time until its grant, from recent runs; absent without history, or where it does not wait for a slot. */
  readonly estimate?: { readonly waitMs: number; readonly basis: RunHistory };
}

const NOT_WAITING: Explanation = { waitsFor: 'nothing', levels: [], olderRuns: 0, grantsBefore: 0 };

export function explanationOf(
  run: RunEntry,
  rooms: Rooms,
  leader: RunEntry | undefined,
  slots: number,
  history: RunHistory | undefined,
): Explanation {
  if (run.state === 'following')
    return { ...NOT_WAITING, waitsFor: 'component', ...(leader && { of: String(leader.number) }) };
  if (run.state !== 'waiting') return NOT_WAITING;
  const rivalries = rivalriesOf(run, rooms);
  const levels = rivalries.map(({ own, ahead }) => ({
    branch: standingOf(own.branch),
    ahead: ahead.map(({ branch }) => standingOf(branch)),
  }));
  const olderRuns = olderThan(run, below(run.update));
  const grantsBefore = run.branch.loan ? olderThan(run, [run.branch]) : fewestGrants(olderRuns, rivalries);
  const common = { levels, olderRuns, grantsBefore };
  if (!rooms.hasRoom(run.room.number)) return { ...common, waitsFor: 'class', of: run.room.name ?? 'any' };
  const stopper = stopperOf(run) ?? closedAbove(run);
  if (stopper) return { ...common, waitsFor: 'limit', of: stopper.name };
  return { ...common, waitsFor: 'slot', ...estimateOf(grantsBefore, slots, history) };
}

/** A slot frees every `meanRunMs ÷ slots` while all are taken. */
function estimateOf(
  grantsBefore: number,
  slots: number,
  history: RunHistory | undefined,
): Pick<Explanation, 'estimate'> {
  if (history === undefined || history.runs === 0) return {};
  return { estimate: { waitMs: ((grantsBefore + 1) * history.meanRunMs) / slots, basis: history } };
}

/** One level of the way down: the run's branch there, and those that are served before it. */
interface Rivalry {
  readonly own: Lane;
  readonly ahead: readonly Lane[];
}

function rivalriesOf(run: RunEntry, rooms: Rooms): Rivalry[] {
  const rivalries: Rivalry[] = [];
  const isOpen = ({ need, isLoan, pos }: Lane): boolean =>
    pos >= 0 && !isLoan && (rooms.hasRoom(need >> 1) || need === run.lane.need);
  for (let branch = run.update; branch.parent; branch = branch.parent) {
    const own = branch.laneFor(run.lane.need);
    const rivals = [...branch.parent.children].filter((child) => child !== branch).sort(byOpening);
    const lanes = rivals.flatMap((rival) => lanesOf(rival).filter(isOpen).slice(0, 1));
    rivalries.unshift({ own, ahead: lanes.filter((lane) => lane.isBefore(own)) });
  }
  return rivalries;
}

/** The smallest number of grants that leaves nobody ahead, if each of them follows the end of a run of the run's own branch. */
function fewestGrants(olderRuns: number, rivalries: readonly Rivalry[]): number {
  const neededAfter = (grants: number): number =>
    rivalries.reduce(
      (sum, { own, ahead }) => ahead.reduce((all, rival) => all + grantsAhead(rival, own, grants), sum),
      olderRuns,
    );
  return least(neededAfter(0), (grants) => grants >= neededAfter(grants));
}

/** Grants to a rival until it is ahead no more. Only fewest held first, counted in slots, says how many; else at least one. */
function grantsAhead(rival: Lane, own: Lane, grants: number): number {
  const { held, heldSlots, waiting, lanes } = rival.branch;
  if (own.rule !== fewestHeldFirst) return 1;
  const isCounted = held === heldSlots && own.held === own.branch.heldSlots;
  const most = isCounted && !lanes?.sibling ? waiting : 1;
  const ours = keysOf(own, isCounted ? Math.max(0, own.held - grants - 1) : 0);
  return least(most, (more) => fewestHeldFirst.compare(keysOf(rival, held + more), ours) > 0);
}

const keysOf = ({ name, weight, since, head, servedAt }: Lane, held: number): Contender => ({
  name,
  held,
  weight,
  since,
  head,
  servedAt,
});

/** The smallest number for which a condition that stays true holds; the bound, if it holds for none below. */
function least(bound: number, holds: (number: number) => boolean): number {
  let [low, high] = [0, bound];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function olderThan(run: RunEntry, branches: Iterable<BranchEntry>): number {
  let older = 0;
  for (const branch of branches)
    for (const { number, room } of branch.waiters()) if (number < run.number && room === run.room) older++;
  return older;
}

const byOpening = (a: BranchEntry, b: BranchEntry): number => a.number - b.number;

function standingOf({ kind, name, held, weight, since }: BranchEntry): Standing {
  return { kind: kind === 'brood' ? 'update' : kind, name, held, weight, since };
}
