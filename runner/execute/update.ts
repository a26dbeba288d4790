// What every root run of an update with a work list does around its own work: it opens and closes the update's record, and whatever ends it early
// ends what it mounted.
import type { RunOutcome } from '../protocol/index.ts';
import { Cancelled } from './cancellation.ts';
import { toRunError } from './failure.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import { Tally } from './tally.ts';
import { UpdateBook } from './updates.ts';

/** Runs `body`, which counts with the tally; never rejects. */
export async function executeUpdate(
  run: Run,
  services: Services,
  body: (tally: Tally) => Promise<RunOutcome>,
): Promise<RunOutcome> {
  const tally = new Tally(run.number, services.uplink, services.clock);
  const book = new UpdateBook(run, services, tally);
  const outcome = await endingOf(run, tally, async () => {
    await book.open();
    return body(tally);
  });
  await book.close(outcome);
  return outcome;
}

async function endingOf(run: Run, tally: Tally, body: () => Promise<RunOutcome>): Promise<RunOutcome> {
  try {
    return await body();
  } catch (thrown) {
    run.cancel('the update ended');
    if (thrown instanceof Cancelled) return { kind: 'cancelled', why: thrown.why };
    return { kind: 'failed', counts: tally.counts, error: toRunError(thrown) };
  }
}
