// What callers may pass. Messages are for developers of the rooms around: users' fields are checked where objects are read.
import { BranchEntry } from './branch.ts';
import { Loan } from './loan.ts';
import { refuse, whole } from './refuse.ts';
import { type Load, NO_LOAD, RunEntry } from './run.ts';
import type { Branch, Limits, RequestOptions, Run } from './types.ts';

export const checkedSlots = (slots: number): number => whole('slots', slots, 1, 1_000_000);

export const checkedWeight = (weight: number): number => whole('a weight', weight, 1, 1_000);

/** Undefined where nothing is bounded. */
export function checkedLimits({ rows, bytes }: Limits): Limits | undefined {
  if (rows !== undefined) whole('a limit on rows', rows, 1);
  if (bytes !== undefined) whole('a limit on bytes', bytes, 1);
  return rows === undefined && bytes === undefined ? undefined : { ...(rows && { rows }), ...(bytes && { bytes }) };
}

export function checkedLoad({ rows = 0, bytes = 0, milliCards = 0 }: RequestOptions): Load {
  if (rows === 0 && bytes === 0 && milliCards === 0) return NO_LOAD;
  return {
    rows: whole('rows of a run', rows, 0),
    bytes: whole('bytes of a run', bytes, 0),
    milliCards: whole('milliCards of a run', milliCards, 0),
  };
}

export function entryOf(branch: Branch): BranchEntry {
  if (!(branch instanceof BranchEntry)) refuse('a branch comes from openSource, openUpdate or pool');
  return branch;
}

export function runOf(run: Run): RunEntry {
  if (!(run instanceof RunEntry)) refuse('a run comes from request or adopt');
  return run;
}

/** The loan of a run's slot, made with its first child. */
export function loanOf(run: RunEntry): Loan {
  if (run.state !== 'granted') refuse(`run ${run.number} is ${run.state} and has no slot to lend`);
  run.loan ??= new Loan(run);
  return run.loan;
}

export const nameOf = ({ kind, name }: BranchEntry): string => (kind === 'pool' ? 'the pool' : `${kind} ${name}`);
