// Why a run waits, from the same keys that decide: what it waits for, who comes first at each level, and how many grants that makes.
import { type BranchEntry, below } from './branch.ts';
import type { Lane } from './lane.ts';
import { stopperOf } from './limits.ts';
import type { Rooms } from './rooms.ts';
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
  /** Grants that pass before its own at the least, if no count changes but by them. */
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
  const levels = levelsOf(run.update);
  const olderRuns = olderThan(run);
  const ahead = levels.reduce((sum, level) => sum + level.ahead.length, 0);
  const common = { levels, olderRuns, grantsBefore: olderRuns + ahead };
  if (!rooms.hasRoom(run.room.number)) return { ...common, waitsFor: 'class', of: run.room.name ?? 'any' };
  const stopper = stopperOf(run);
  if (stopper) return { ...common, waitsFor: 'limit', of: stopper.name };
  return { ...common, waitsFor: 'slot', ...estimateOf(common.grantsBefore, slots, history) };
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

function levelsOf(update: BranchEntry): Level[] {
  const levels: Level[] = [];
  for (let branch = update; branch.parent; branch = branch.parent) {
    const own = firstLaneOf(branch);
    const rivals = [...branch.parent.children].filter((child) => child !== branch && child.waiting > 0);
    const isAhead = (rival: BranchEntry): boolean => {
      const lane = firstLaneOf(rival);
      return own !== undefined && lane !== undefined && lane.isBefore(own);
    };
    levels.unshift({ branch: standingOf(branch), ahead: rivals.filter(isAhead).sort(byOpening).map(standingOf) });
  }
  return levels;
}

/** Its lane with the oldest run. */
function firstLaneOf(branch: BranchEntry): Lane | undefined {
  let first: Lane | undefined;
  for (let lane = branch.lanes; lane; lane = lane.sibling) {
    if (lane.head > 0 && (!first || lane.head < first.head)) first = lane;
  }
  return first;
}

function olderThan(run: RunEntry): number {
  let older = 0;
  for (const brood of below(run.update)) {
    for (const other of brood.waiters()) {
      if (other.state === 'waiting' && other.number < run.number && other.room === run.room) older++;
    }
  }
  return older;
}

const byOpening = (a: BranchEntry, b: BranchEntry): number => a.number - b.number;

function standingOf({ kind, name, held, weight, since }: BranchEntry): Standing {
  return { kind: kind === 'brood' ? 'update' : kind, name, held, weight, since };
}
