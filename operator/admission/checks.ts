// What callers may pass. Messages are for developers of the rooms around: users' fields are checked where objects are read.
import { BranchEntry } from './branch.ts';
import { Loan } from './loan.ts';
import { refuse } from './refuse.ts';
import { type Load, NO_LOAD, RunEntry } from './run.ts';
import type { Branch, Limits, RequestOptions, Run } from './types.ts';

const SLOTS_MAX = 1_000_000;
const WEIGHT_MAX = 1_000;

export function checkedSlots(slots: number): number {
  if (!isWhole(slots, 1, SLOTS_MAX)) refuse(`slots must be an integer from 1 to ${SLOTS_MAX}, got ${slots}`);
  return slots;
}

export function checkedWeight(weight: number): number {
  if (!isWhole(weight, 1, WEIGHT_MAX)) refuse(`a weight must be an integer from 1 to ${WEIGHT_MAX}, got ${weight}`);
  return weight;
}

export function checkedLimits(limits: Limits): Limits {
  for (const [name, max] of Object.entries(limits))
    if (max !== undefined && !isWhole(max, 1)) refuse(`a limit on ${name} must be an integer of 1 or more, got ${max}`);
  return { ...limits };
}

export function checkedLoad({ rows = 0, bytes = 0, milliCards = 0 }: RequestOptions): Load {
  if (rows === 0 && bytes === 0 && milliCards === 0) return NO_LOAD;
  for (const [name, amount] of Object.entries({ rows, bytes, milliCards }))
    if (!isWhole(amount, 0)) refuse(`${name} of a run must be an integer of 0 or more, got ${amount}`);
  return { rows, bytes, milliCards };
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

export function nameOf(branch: BranchEntry): string {
  return branch.kind === 'pool' ? 'the pool' : `${branch.kind} ${branch.name}`;
}

function isWhole(value: number, min: number, max = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}
