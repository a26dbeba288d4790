// Work of updates that are dead: a process died, or an update was cut short, before all of it was done. Offered again at the same version it is
// `known` (W2) and stays theirs, so whoever works on a source takes it over first.
import type { Run } from './run.ts';
import type { Services } from './services.ts';

/** Answers how many entries the update has then: with those of an earlier attempt of its root run. */
export async function takeOverLeft(run: Run, { state }: Services, sources: Iterable<string>): Promise<number> {
  const { update, openUpdates } = run.order;
  // An operator of an older version does not say which are open; then none counts as dead.
  if (openUpdates !== undefined)
    for (const source of sources)
      await run.cancellation.race(state.adoptWork(source, update, [...openUpdates, update]));
  return run.cancellation.race(state.countWork({ update }));
}
