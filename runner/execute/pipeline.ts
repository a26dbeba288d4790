// The root run of an update of the whole Pipeline (design §4): lists nothing outside, but enters the items that the state knows, of every source,
// whose fingerprint differs; with `reprocess` all of them.
import type { RunOutcome } from '../protocol/index.ts';
import { takeOverLeft } from './left-over.ts';
import { itemComponent } from './plan.ts';
import type { ItemRecord, NewWork } from './ports.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { executeUpdate } from './update.ts';
import { Worker } from './worker.ts';

const PAGE = 1_000;

export function executePipeline(run: Run, services: Services): Promise<RunOutcome> {
  return executeUpdate(run, services, async (tally) => {
    const { source, releaseQuarantined } = run.order;
    if (releaseQuarantined === true) await run.cancellation.race(services.state.release(source));
    const left = await takeOverLeft(run, services, source === undefined ? services.sources.keys() : [source]);
    const worker = new Worker(run, services, tally, left);
    await enterKnown(run, services, worker);
    tally.listingEnded();
    await worker.finish();
    return { kind: 'done', counts: tally.counts };
  });
}

/** Items of one source or of all; those of sources that this runner does not know are left to them. */
async function enterKnown(run: Run, services: Services, worker: Worker): Promise<void> {
  const { state, sources, plan } = services;
  const { source } = run.order;
  const { fingerprint } = itemComponent(plan);
  const filter = {
    ...(source === undefined ? {} : { source }),
    ...(run.reprocess ? {} : { otherThan: fingerprint }),
  };
  for (let after = 0; ; ) {
    const page = await run.cancellation.race(state.scanItems(filter, after, PAGE));
    const seenAtMs = await run.cancellation.race(state.nowMs());
    const items = page.filter((item) => sources.has(item.source) && item.status !== 'quarantined');
    await worker.enter(items.map((item) => workOf(run, item, seenAtMs)));
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}

function workOf(run: Run, { source, key, version }: ItemRecord, seenAtMs: number): NewWork {
  const { update } = run.order;
  return { source, key, action: 'process', version, update, seenAtMs, ...(run.reprocess ? { reprocess: true } : {}) };
}
