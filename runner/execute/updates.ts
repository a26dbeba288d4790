// The record of an update in the state, for `fairlead updates` and for status: written when it begins and when it ended.
import { NO_COUNTS, type RunOutcome, updateResult } from '../protocol/index.ts';
import type { UpdateRecord } from './ports.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import type { Tally } from './tally.ts';

export class UpdateBook {
  readonly #run: Run;
  readonly #services: Services;
  readonly #tally: Tally | undefined;
  #startedAtMs: number;

  constructor(run: Run, services: Services, tally?: Tally) {
    this.#run = run;
    this.#services = services;
    this.#tally = tally;
    this.#startedAtMs = run.startedAtMs;
  }

  async open(): Promise<void> {
    this.#startedAtMs = await this.#services.state.nowMs();
    await this.#save({ result: 'Running', counts: NO_COUNTS });
  }

  /** A record that cannot be written fails nothing: the work itself is recorded elsewhere. */
  async close(outcome: RunOutcome): Promise<void> {
    try {
      const endedAtMs = await this.#services.state.nowMs();
      const message = messageOf(outcome);
      const counts = this.#tally?.counts ?? ('counts' in outcome ? outcome.counts : NO_COUNTS);
      const result = updateResult(outcome);
      await this.#save({
        result,
        counts,
        endedAtMs,
        ...(message === undefined ? {} : { message: this.#services.hide(message) }),
      });
    } catch {
      return;
    }
  }

  #save(part: Pick<UpdateRecord, 'result' | 'counts' | 'endedAtMs' | 'message'>): Promise<void> {
    const { update, kind, source, key, trigger, traceparent } = this.#run.order;
    return this.#services.state.saveUpdate({
      name: update,
      kind: kind === 'cycle' || kind === 'pipeline' ? kind : 'key',
      trigger: trigger ?? '',
      startedAtMs: this.#startedAtMs,
      listed: this.#tally?.listed ?? true,
      ...(source === undefined ? {} : { source }),
      ...(key === undefined ? {} : { key }),
      ...(traceparent === undefined ? {} : { traceId: traceparent.split('-')[1] ?? '' }),
      ...part,
    });
  }
}

function messageOf(outcome: RunOutcome): string | undefined {
  if (outcome.kind === 'failed' || outcome.kind === 'parked') return outcome.error.message;
  if (outcome.kind === 'cancelled') return outcome.why;
  if (outcome.kind !== 'done' || outcome.heldDeletes === undefined) return undefined;
  const { missing, known } = outcome.heldDeletes;
  return `${missing} of ${known} items are not in the source any more; that is more than the guard allows, so nothing was deleted: check the source, then allow the deletes`;
}
