// What a live run looks like to people: for `why`, `top`, the dashboard and their API. Nothing here changes a decision.
import type { ComponentPath, RunNumber } from '../../runner/protocol/index.ts';
import { childrenOf, type LiveRun } from './live-run.ts';

/**
 * - `waiting`: for a slot, for room in its class, or for a limit; `explain` tells which.
 * - `following`: for the outcome of another run of its component (A9).
 * - `executing`: on a runner. `waitingForChildren`: on a runner, its slot lent to a child (A7).
 * - `backoff`: its attempt ended, the next one comes later (A13).
 * - `watching`: a watcher, which takes no slot. `unplaced`: a watcher without a runner.
 */
export type RunPhase =
  | 'waiting'
  | 'following'
  | 'executing'
  | 'waitingForChildren'
  | 'backoff'
  | 'watching'
  | 'unplaced'
  | 'ended';

export interface RunPicture {
  readonly number: RunNumber;
  readonly path: ComponentPath;
  readonly kind: string;
  /** Name of its update. */
  readonly update: string;
  readonly source?: string;
  readonly parentRun?: RunNumber;
  readonly phase: RunPhase;
  readonly attempt: number;
  readonly losses: number;
  readonly requestedAtMs: number;
  readonly runner?: string;
  /** Class of runner that it needs; absent: any. */
  readonly runnerClass?: string;
  /** Runs that it mounted and that have not ended. */
  readonly children: number;
  /** It was told to stop, and why. */
  readonly cancelledWhy?: string;
}

export function pictureOf(run: LiveRun): RunPicture {
  const { number, path, kind, update, attempt, losses, requestedAtMs, parentRun, seat, runnerClass, cancelledWhy } =
    run;
  return {
    number,
    path,
    kind,
    update: update.name,
    ...(update.start.source !== undefined && { source: update.start.source }),
    ...(parentRun !== undefined && { parentRun }),
    phase: phaseOf(run),
    attempt,
    losses,
    requestedAtMs,
    ...(seat !== undefined && { runner: seat.name }),
    ...(runnerClass !== undefined && { runnerClass }),
    children: childrenOf(run).length,
    ...(cancelledWhy !== undefined && { cancelledWhy }),
  };
}

function phaseOf({ state, isCounted }: LiveRun): RunPhase {
  if (state.phase === 'asked') return state.ask.state === 'following' ? 'following' : 'waiting';
  if (state.phase === 'parked') return 'backoff';
  if (state.phase === 'executing') return isCounted ? 'executing' : 'waitingForChildren';
  return state.phase;
}
