// A component's commit, from what it wants to what became of it: the change is computed against the record that was read, and again when the
// record moved in between.
import { type FencingToken, type RunOutcome, STATE_STEP } from '../protocol/index.ts';
import type { Attempts } from './attempts.ts';
import type { Committed, PendingCommit } from './commit.ts';
import { RunFailure } from './failure.ts';
import type { ComponentRecord, ComponentRef, Opened, RowChange, Target } from './ports.ts';
import { DEFAULT_RETRY } from './retry.ts';
import { isEmptyChange } from './rows.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { failureOf } from './timed.ts';
import { NO_PLACE } from './times.ts';

/** A record that moves more often than this under one run means that two runs fight over a component. */
const MOVES_MAX = 8;

const SUPERSEDED: RunOutcome = { kind: 'superseded' };

/** Builds the commit against what the state knows now. */
export type BuildCommit = (opened: Opened, token: FencingToken) => Promise<PendingCommit> | PendingCommit;

/** Answers `committed` once it is; `superseded`: newer work was there first and nothing was written. */
export async function settle(
  run: Run,
  services: Services,
  attempts: Attempts,
  ref: ComponentRef,
  first: Opened,
  build: BuildCommit,
  committed: RunOutcome,
): Promise<RunOutcome> {
  const { cancellation, times } = run;
  let opened = first;
  for (let moves = 0; moves < MOVES_MAX; ) {
    cancellation.throwIfCancelled();
    const { token } = run;
    let span = NO_PLACE; // by hand: `timed` would cost every component two more promises
    try {
      const building = build(opened, token);
      const pending = building instanceof Promise ? await building : building;
      span = times?.begin('commit', 'commit') ?? span;
      const result = await services.committer.commit(pending, cancellation);
      times?.end(span);
      if (result.kind === 'committed') return committed;
      if (result.kind === 'fenced' && result.by === 'token') {
        await repair(services, pending, result);
        return SUPERSEDED;
      }
      if (result.kind === 'moved') moves += 1;
      else await run.renewed(token);
    } catch (thrown) {
      times?.end(span, failureOf(thrown));
      await attempts.failed('commit', STATE_STEP, DEFAULT_RETRY, thrown);
    }
    opened = await cancellation.race(services.opener.ask(ref));
  }
  throw new RunFailure({
    class: 'internal',
    message: `the record of ${ref.path} changed ${MOVES_MAX} times while one run of it committed; it is tried again with the next cycle`,
    step: STATE_STEP,
  });
}

/** A late write outside the store cannot be taken back: the next cycle writes the component again. */
async function repair(services: Services, { intent }: PendingCommit, result: Committed): Promise<void> {
  if (result.applied === true && intent !== undefined) await services.state.doubt([intent]);
}

/** Changes by target, parted into those that the store applies itself and those outside. Changes that change nothing are left out. */
export function partChanges(changes: readonly { readonly target: Target; readonly change: RowChange }[]): {
  readonly shared: ReadonlyMap<string, RowChange>;
  readonly outside: PendingCommit['outside'];
} {
  const real = changes.filter(({ change }) => !isEmptyChange(change));
  if (real.length === 0) return NOTHING;
  const shared = real.filter(({ target }) => target.shared).map(({ target, change }) => [target.name, change] as const);
  return {
    shared: shared.length === 0 ? NO_CHANGES : new Map(shared),
    outside: real.filter(({ target }) => !target.shared),
  };
}

const NO_CHANGES: ReadonlyMap<string, RowChange> = new Map();
const NOTHING = { shared: NO_CHANGES, outside: [] };

/** `base` of a commit, where there is a record. */
export function baseOf(component: ComponentRecord | undefined): { readonly base?: FencingToken } {
  return component === undefined ? {} : { base: component.token };
}
