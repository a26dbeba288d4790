// What decides whether a commit may be written: one rule for every store.
//   C1. A token of an older epoch than the newest one that the store saw writes nothing.
//   C2. A token older than that of the record, of an intent, or of the removal of the component writes nothing.
//   C3. A commit that was computed against another record than the one that is there writes nothing either (`moved`).
import type { Commit, CommitResult } from '../execute/index.ts';
import { compareTokens, type FencingToken } from '../protocol/index.ts';

export const COMMITTED: CommitResult = { kind: 'committed' };
export const MOVED: CommitResult = { kind: 'moved' };
export const FENCED_BY_EPOCH: CommitResult = { kind: 'fenced', by: 'epoch' };
export const FENCED_BY_TOKEN: CommitResult = { kind: 'fenced', by: 'token' };

/** What a store knows of a component that a commit is for. */
export interface Standing {
  readonly epoch: number;
  /** Token of the record; absent: there is none. */
  readonly recorded: FencingToken | undefined;
  /** Tokens of intents, and of the removal where there is no record. */
  readonly others: readonly FencingToken[];
}

/** Why the token may not write; undefined: it may. */
export function refuse(token: FencingToken, standing: Standing): CommitResult | undefined {
  if (token.epoch < standing.epoch) return FENCED_BY_EPOCH;
  const newer = (other: FencingToken | undefined) => other !== undefined && compareTokens(other, token) > 0;
  return newer(standing.recorded) || standing.others.some(newer) ? FENCED_BY_TOKEN : undefined;
}

/** What C3 looks at. */
export interface Known {
  /** Of the last commit of any kind. */
  readonly token: FencingToken;
  readonly hasSucceeded: boolean;
}

/** C3. Without `base` the commit was computed for a component that never succeeded. */
export function isMoved(commit: Commit, known: Known | undefined): boolean {
  if (commit.kind === 'fail') return false;
  if (commit.kind === 'remove' && known === undefined) return false;
  if (commit.kind === 'touch' && !known?.hasSucceeded) return true;
  if (commit.base === undefined) return known?.hasSucceeded === true;
  return known === undefined || compareTokens(commit.base, known.token) !== 0;
}
