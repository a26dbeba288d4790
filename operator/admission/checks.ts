// What callers may pass. Messages are for developers of the rooms around: users' fields are checked where objects are read.
import { BranchEntry } from './branch.ts';
import { type Load, RunEntry } from './run.ts';
import type { Branch, Limits, RequestOptions, Run } from './types.ts';

/** Stops a call that makes no sense before it changes anything: a wrong count would be a silent unfairness for ever. */
export function refuse(why: string): never {
  throw new Error(`admission tree: ${why}`);
}

/** The value, if it is an integer within the bounds. */
export function whole(what: string, value: number, min: number, max = Number.MAX_SAFE_INTEGER): number {
  if (!Number.isSafeInteger(value) || value < min || value > max)
    refuse(`${what} must be an integer from ${min} to ${max}, got ${value}`);
  return value;
}

export const checkedSlots = (slots: number): number => whole('slots', slots, 1, 1_000_000);

export const checkedWeight = (weight: number): number => whole('a weight', weight, 1, 1_000);

/** Undefined where nothing is bounded. */
export function checkedLimits(limits: Limits): Limits | undefined {
  const bounds = Object.entries(limits).filter(([, bound]) => bound !== undefined);
  for (const [what, bound] of bounds) whole(`a limit on ${what}`, bound, 1);
  return bounds.length === 0 ? undefined : Object.fromEntries(bounds);
}

/** Undefined where nothing is declared. */
export function checkedLoad({ rows = 0, bytes = 0, milliCards = 0 }: RequestOptions): Load | undefined {
  if (rows === 0 && bytes === 0 && milliCards === 0) return undefined;
  const load = { rows, bytes, milliCards, loaded: 1 };
  for (const [what, amount] of Object.entries(load)) whole(`${what} of a run`, amount, 0);
  return load;
}

export function entryOf(branch: Branch): BranchEntry {
  return branch instanceof BranchEntry ? branch : refuse('a branch comes from openSource, openUpdate or pool');
}

export function runOf(run: Run): RunEntry {
  return run instanceof RunEntry ? run : refuse('a run comes from request or adopt');
}

export const nameOf = ({ kind, name }: BranchEntry): string => (kind === 'pool' ? 'the pool' : `${kind} ${name}`);
