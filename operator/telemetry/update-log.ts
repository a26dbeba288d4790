// Says in the log what became of updates and of runs that failed: one line each, with trace and object.
//   Idle updates are for `debug`; of one update the first FAILURES_SAID failures are said, and how many more there were.
import type { RunOutcome } from '../../runner/protocol/index.ts';
import { parseTraceparent } from '../../runner/protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { DispatchEvents, RunView, UpdateEnding, UpdateView } from '../dispatch/index.ts';
import type { Log, LogFields } from '../log.ts';

const FAILURES_SAID = 5;

export class UpdateLog implements DispatchEvents {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #pipeline: string;
  readonly #failures = new Map<UpdateView, number>();

  constructor(log: Log, clock: Clock, pipeline: string) {
    this.#log = log;
    this.#clock = clock;
    this.#pipeline = pipeline;
  }

  ended(run: RunView, outcome: RunOutcome): void {
    if (outcome.kind !== 'failed' || run.parent === undefined) return;
    const failures = (this.#failures.get(run.update) ?? 0) + 1;
    this.#failures.set(run.update, failures);
    if (failures > FAILURES_SAID) return;
    const { class: failure, step, message: why } = outcome.error;
    const { key, attempt, grantedTo: runner } = run;
    this.#log.warn('a run failed', { ...this.#fieldsOf(run.update), key, attempt, runner, class: failure, step, why });
  }

  lost(run: RunView, runner: string): void {
    this.#log.debug('a run was lost with its runner', { ...this.#fieldsOf(run.update), key: run.key, runner });
  }

  updateEnded(update: UpdateView, { result, counts, outcome }: UpdateEnding): void {
    const failures = this.#failures.get(update) ?? 0;
    this.#failures.delete(update);
    const { added, reprocessed, deleted, failed } = counts;
    const isIdle = result === 'Succeeded' && added + reprocessed + deleted + failed === 0;
    const level = result === 'Failed' ? 'error' : isIdle ? 'debug' : 'info';
    this.#log[level]('an update ended', {
      ...this.#fieldsOf(update),
      kind: update.kind,
      trigger: update.trigger,
      result,
      tookMs: this.#clock.nowMs() - update.requestedAtMs,
      counts,
      why: outcome.kind === 'failed' ? outcome.error.message : undefined,
      failuresNotSaid: failures > FAILURES_SAID ? failures - FAILURES_SAID : undefined,
    });
  }

  #fieldsOf({ name, start, traceparent }: UpdateView): LogFields {
    const traceId = parseTraceparent(traceparent)?.traceId;
    return { pipeline: this.#pipeline, source: start.source, update: name, traceId };
  }
}
