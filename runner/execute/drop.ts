// Delete runs (A10): of an item that left its source, of a nested component, or of all that a source or the Pipeline has.
import { addCounts, type Counts, itemPath, NO_COUNTS, type RunOutcome } from '../protocol/index.ts';
import { Attempts, Parked } from './attempts.ts';
import { Cancelled } from './cancellation.ts';
import { RunFailure, toRunError } from './failure.ts';
import type { DropInput } from './job.ts';
import { deleteChildren, failureOf } from './nested.ts';
import { removeComponent } from './remove.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';

const PAGE = 1_000;

const DROP: DropInput = { drop: true };

/** `isWhole`: the source goes that the component is of. */
export async function executeDrop(run: Run, services: Services, isWhole: boolean): Promise<RunOutcome> {
  try {
    const { source, key, path } = run.order;
    if (key !== undefined) return await removeOne(run, services, path, isWhole);
    const counts = await dropItems(run, services, source);
    await deleteChildren(run, services, { path }, () => true);
    if (run.isRoot && source === undefined) await dropTargets(run, services);
    if (run.isRoot) await run.cancellation.race(services.forget(source));
    return { kind: 'done', counts };
  } catch (thrown) {
    if (thrown instanceof Cancelled) return { kind: 'cancelled', why: thrown.why };
    if (thrown instanceof Parked) {
      return { kind: 'parked', resumeAfterMs: thrown.resumeAfterMs, error: thrown.error, resume: thrown.resume };
    }
    return { kind: 'failed', counts: NO_COUNTS, error: toRunError(thrown, 'delete') };
  }
}

async function removeOne(run: Run, services: Services, path: string, isDrop: boolean): Promise<RunOutcome> {
  const { source = '', key = '' } = run.order;
  const isItem = path === itemPath(source, key);
  const ref = isItem ? { path, item: { source, key } } : { path };
  const opened = await run.cancellation.race(services.opener.ask(ref));
  const settles = opened.work === undefined ? {} : { settles: opened.work.update, settlesSeq: opened.work.seq };
  const attempts = new Attempts(run, services);
  return removeComponent(run, services, attempts, { ref, opened, isDrop, ...settles });
}

/** What targets made for the Pipeline goes with it, when its last row has gone. */
async function dropTargets(run: Run, { plan }: Services): Promise<void> {
  for (const target of plan.targets) await run.cancellation.race(target.drop());
}

/** Mounts a delete run for each item of a source, or of all sources. */
async function dropItems(run: Run, services: Services, source: string | undefined): Promise<Counts> {
  let counts = NO_COUNTS;
  let failure: ReturnType<typeof failureOf>;
  for (let after = 0; ; ) {
    const filter = source === undefined ? {} : { source };
    const page = await run.cancellation.race(services.state.scanItems(filter, after, PAGE));
    for (const item of page) {
      while (!run.mounts.hasRoom) await run.cancellation.race(run.mounts.change());
      const path = itemPath(item.source, item.key);
      const request = {
        path,
        kind: 'delete',
        source: item.source,
        key: item.key,
        version: 'delete',
        input: DROP,
      } as const;
      run.mounts.mount(request, (outcome) => {
        if (outcome.kind === 'done' || outcome.kind === 'failed') counts = addCounts(counts, outcome.counts);
        failure ??= failureOf(outcome, 'delete');
      });
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    after = last.id;
  }
  await run.drained();
  if (failure !== undefined) throw new RunFailure(failure);
  return counts;
}
