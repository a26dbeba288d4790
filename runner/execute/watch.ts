// The watcher of a live source: tells the dispatcher what it sees. It takes no slot and ends only by cancellation.
//
//   V1. Each time that the watch is armed, a full cycle is asked for: what changed before may have been missed.
//   V2. A watch that fails is armed again with back-off; freshness, not a live watcher, is the health signal (F2).
import { NO_COUNTS, type RunOutcome } from '../protocol/index.ts';
import { backOffMs } from './back-off.ts';
import { Cancelled } from './cancellation.ts';
import { sourceOf } from './content.ts';
import { toRunError } from './failure.ts';
import type { Source } from './ports.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';

export async function executeWatch(run: Run, services: Services): Promise<RunOutcome> {
  try {
    const source = sourceOf(services, run.order.source);
    if (source.watch === undefined) {
      const message = `the source of "${run.order.source ?? ''}" cannot be watched; use mode Refresh with an interval`;
      return { kind: 'failed', counts: NO_COUNTS, error: { class: 'invalid', message } };
    }
    return await watchForEver(run, services, source);
  } catch (thrown) {
    if (thrown instanceof Cancelled) return { kind: 'cancelled', why: thrown.why };
    return { kind: 'failed', counts: NO_COUNTS, error: toRunError(thrown) };
  }
}

async function watchForEver(run: Run, services: Services, source: Source): Promise<never> {
  for (let failures = 0; ; ) {
    try {
      await watchOnce(run, services, source, () => {
        failures = 0;
      });
      failures += 1;
    } catch (thrown) {
      if (thrown instanceof Cancelled) throw thrown;
      failures += 1;
    }
    await run.cancellation.sleep(services.clock, backOffMs(failures, services.random));
  }
}

async function watchOnce(run: Run, { uplink, clock }: Services, source: Source, onArmed: () => void): Promise<void> {
  const { cancellation } = run;
  const batches = source.watch?.(cancellation.signal)[Symbol.asyncIterator]();
  if (batches === undefined) return;
  try {
    for (let isArmed = false; ; isArmed = true) {
      const batch = await cancellation.race(batches.next());
      if (batch.done === true) return;
      if (!isArmed) {
        onArmed();
        uplink.changed(run.number, [{ key: '', kind: 'rescan', seenAtMs: clock.nowMs() }]);
      }
      if (batch.value.length > 0) uplink.changed(run.number, batch.value);
    }
  } finally {
    void batches.return?.().catch(() => {});
  }
}
