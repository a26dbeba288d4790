// A component's commit, from what it wants to what became of it: the change is computed against the record that was read, and again when the
// record moved in between.
import type { Clock } from '../clock.ts';
import type { FencingToken } from '../protocol/index.ts';
import type { Attempts } from './attempts.ts';
import { Cancelled } from './cancellation.ts';
import type { Committed, PendingCommit } from './commit.ts';
import { RunFailure } from './failure.ts';
import type { ComponentRecord, ComponentRef, Opened, RowChange, Target } from './ports.ts';
import { DEFAULT_RETRY } from './retry.ts';
import { isEmptyChange } from './rows.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';

/** How long a cancelled run waits for a commit that is on its way, to be able to say what became of it. */
const COMMIT_GRACE_MS = 500;
/** A record that moves more often than this under one run means that two runs fight over a component. */
const MOVES_MAX = 8;

/** Builds the commit against what the state knows now. */
export type BuildCommit = (opened: Opened, token: FencingToken) => Promise<PendingCommit> | PendingCommit;

/** `superseded`: newer work was there first and nothing was written. */
export async function settle(
  run: Run,
  services: Services,
  attempts: Attempts,
  ref: ComponentRef,
  first: Opened,
  build: BuildCommit,
): Promise<'committed' | 'superseded'> {
  let opened = first;
  for (let moves = 0; moves < MOVES_MAX; ) {
    run.cancellation.throwIfCancelled();
    const { token } = run;
    const pending = await build(opened, token);
    const result = await attempts.try('commit', 'commit', DEFAULT_RETRY, () =>
      withGrace(run, services.clock, services.committer.commit(pending)),
    );
    if (result.kind === 'committed') return 'committed';
    if (result.kind === 'fenced' && result.by === 'token') {
      await repair(services, pending, result);
      return 'superseded';
    }
    if (result.kind === 'fenced') await run.renewed(token);
    else moves += 1;
    opened = await run.cancellation.race(services.opener.ask(ref));
  }
  throw new RunFailure({
    class: 'internal',
    message: `the record of ${ref.path} changed ${MOVES_MAX} times while one run of it committed; it is tried again with the next cycle`,
    step: 'commit',
  });
}

/** A late write outside the store cannot be taken back: the next cycle writes the component again. */
async function repair(services: Services, { intent }: PendingCommit, result: Committed): Promise<void> {
  if (result.applied === true && intent !== undefined) await services.state.doubt([intent]);
}

function withGrace<T>({ cancellation }: Run, clock: Clock, promise: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const listener = (): void => {
      clock.after(COMMIT_GRACE_MS, () => reject(new Cancelled('the commit did not end in time')));
    };
    cancellation.onCancel(listener);
    promise.then(
      (value) => {
        cancellation.forget(listener);
        resolve(value);
      },
      (error: unknown) => {
        cancellation.forget(listener);
        reject(error);
      },
    );
  });
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
