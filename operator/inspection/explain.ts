// Why a run waits, from the same keys that decide: what it waits for, who comes first at each level, and how many grants that makes.
import { fewestHeldFirst, type Run } from '../admission/index.ts';
import {
  type BranchInside,
  below,
  type LaneInside,
  type RoomsInside,
  type RunInside,
  type TreeInside,
} from './inside.ts';
import type { BranchSnapshot } from './snapshot.ts';

/** What a decision compares of a branch (A2, A11). */
export type Standing = Required<Pick<BranchSnapshot, 'kind' | 'name' | 'held' | 'weight' | 'since'>>;

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

/** Why a run waits and who comes first; `history` gives it a time. Costs by its update's waiting runs and the branches beside its path. */
export function explanationOf(tree: TreeInside, asked: Run, history?: RunHistory): Explanation {
  const { rooms, runOf } = tree.inside;
  const run = runOf(asked);
  if (run.state === 'following') return { ...NOT_WAITING, ...leaderOf(tree, run) };
  if (run.state !== 'waiting') return NOT_WAITING;
  const rivalries = rivalriesOf(run, rooms);
  const olderRuns = olderThan(run, below(run.update));
  const grantsBefore = run.branch.loan ? olderThan(run, [run.branch]) : fewestGrants(olderRuns, rivalries);
  const levels = rivalries.map(({ own, ahead }) => ({ branch: standingOf(own), ahead: ahead.map(standingOf) }));
  const common = { levels, olderRuns, grantsBefore };
  if (!rooms.hasRoom(run.room.number)) return { ...common, waitsFor: 'class', of: run.room.name ?? 'any' };
  const limited = limitedFor(tree, run);
  if (limited) return { ...common, waitsFor: 'limit', of: limited.name };
  if (history === undefined || history.runs === 0) return { ...common, waitsFor: 'slot' };
  // A slot frees every `meanRunMs ÷ slots` while all are taken.
  const waitMs = ((grantsBefore + 1) * history.meanRunMs) / tree.slots;
  return { ...common, waitsFor: 'slot', estimate: { waitMs, basis: history } };
}

/** The run of its component that executes (A9). */
function leaderOf(tree: TreeInside, { component = '' }: RunInside): Pick<Explanation, 'waitsFor' | 'of'> {
  const leader = tree.runsOf(component).find(({ state }) => state === 'granted');
  return { waitsFor: 'component', ...(leader && { of: String(leader.number) }) };
}

/** The branch whose limits the run does not pass, or that starts another one first (M1, M3). */
function limitedFor({ inside: { stopperOf, closings } }: TreeInside, run: RunInside): BranchInside | undefined {
  const closed = closings.above(run);
  return stopperOf(run) ?? (closed?.closedFor === run ? undefined : closed);
}

/** One level of the way down: the run's branch there, and those that are served before it. */
interface Rivalry {
  readonly own: LaneInside;
  readonly ahead: readonly LaneInside[];
}

function rivalriesOf(run: RunInside, rooms: RoomsInside): Rivalry[] {
  const rivalries: Rivalry[] = [];
  const isRival = ({ need, isLoan, pos }: LaneInside): boolean =>
    pos >= 0 && !isLoan && (need === run.lane.need || rooms.hasRoom(need >> 1));
  for (let branch = run.update; branch.parent; branch = branch.parent) {
    const own = branch.lanes.find(({ need }) => need === run.lane.need)!; // it waits below, so there is one
    const rivals = [...branch.parent.children].flatMap(({ lanes }) => lanes.filter(isRival).slice(0, 1));
    rivalries.unshift({ own, ahead: rivals.filter((rival) => rival.branch !== branch && rival.isBefore(own)) });
  }
  return rivalries;
}

/** The smallest number of grants that leaves nobody ahead, if each of them follows the end of a run of the run's own branch. */
function fewestGrants(olderRuns: number, rivalries: readonly Rivalry[]): number {
  const neededAfter = (grants: number): number =>
    rivalries
      .flatMap(({ own, ahead }) => ahead.map((rival) => grantsAhead(rival, own, grants)))
      .reduce((sum, more) => sum + more, olderRuns);
  let [low, high] = [0, neededAfter(0)];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (middle >= neededAfter(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Grants to a rival until it is ahead no more. Only fewest held first, counted in slots, says how many; else at least one. */
function grantsAhead(rival: LaneInside, own: LaneInside, grants: number): number {
  const { held, heldSlots, waiting, lanes } = rival.branch;
  if (own.branch.parent?.rule !== fewestHeldFirst) return 1;
  const isCounted = held === heldSlots && own.held === own.branch.heldSlots;
  // It is ahead while it holds less for its weight than this, or as much and has waited longer.
  const bar = ((isCounted ? Math.max(0, own.held - grants - 1) : 0) * rival.weight) / own.weight - held;
  const more = Number.isInteger(bar) && rival.since < own.since ? bar + 1 : Math.ceil(bar);
  return Math.min(Math.max(0, more), isCounted && lanes.length === 1 ? waiting : 1);
}

function olderThan(run: RunInside, branches: Iterable<BranchInside>): number {
  const waiters = [...branches].flatMap((branch) => branch.waiters);
  return waiters.filter(({ number, room }) => number < run.number && room === run.room).length;
}

function standingOf({ branch: { kind, name, held, weight, since } }: LaneInside): Standing {
  return { kind, name, held, weight, since };
}
