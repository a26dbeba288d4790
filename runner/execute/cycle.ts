// The root run of one cycle of a live source (design §4): adopts what dead updates left, lists, and mounts from the work list until all of the
// update's work ended. A cycle with `reprocess` lists too and does every item.
import type { HeldDeletes, RunError, RunOutcome } from '../protocol/index.ts';
import { Cancelled } from './cancellation.ts';
import { RunFailure, toRunError } from './failure.ts';
import { takeOverLeft } from './left-over.ts';
import { Listing } from './listing.ts';
import { resumeLive } from './live.ts';
import type { SourcePlan } from './ports.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { executeUpdate } from './update.ts';
import { Worker } from './worker.ts';

export function executeCycle(run: Run, services: Services, deletedBefore: number): Promise<RunOutcome> {
  return executeUpdate(run, services, async (tally) => {
    const plan = sourcePlan(run, services);
    const worker = new Worker(run, services, tally, await begin(run, services));
    await resumeLive(run, services, tally);
    const { held, failure } = await list(new Listing(run, services, plan, tally, worker), deletedBefore);
    await worker.finish();
    await services.sweeper.sweep();
    if (failure !== undefined) return { kind: 'failed', counts: tally.counts, error: failure };
    if (held === undefined && tally.counts.failed === 0)
      await services.lostRows.wholeCycleEnded(run.order.source ?? '');
    return { kind: 'done', counts: tally.counts, ...(held === undefined ? {} : { heldDeletes: held }) };
  });
}

function sourcePlan(run: Run, services: Services): SourcePlan {
  const plan = services.sources.get(run.order.source ?? '');
  if (plan !== undefined) return plan;
  throw new RunFailure({ class: 'invalid', message: `this runner knows no live source "${run.order.source ?? ''}"` });
}

async function begin(run: Run, services: Services): Promise<number> {
  const { source = '', releaseQuarantined } = run.order;
  if (releaseQuarantined === true) await run.cancellation.race(services.state.release(source));
  return takeOverLeft(run, services, [source]);
}

/** A listing that failed fails the cycle, after what it did find was processed. */
async function list(listing: Listing, deletedBefore: number): Promise<{ held?: HeldDeletes; failure?: RunError }> {
  try {
    const held = await listing.list(deletedBefore);
    return held === undefined ? {} : { held };
  } catch (thrown) {
    if (thrown instanceof Cancelled) throw thrown;
    return { failure: toRunError(thrown, 'list') };
  }
}
