// Follows the dispatcher of one Pipeline and counts. Every call is on the path of a decision, so it only adds to series that are
// looked up once and kept.
import type { Counts, RunOutcome } from '../../runner/protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { DispatchEvents, GrantReason, RunView, UpdateEnding, UpdateView } from '../dispatch/index.ts';
import { type Counter, getOrMake, type MetricRegistry, type Recorder } from './registry.ts';

export interface PipelineName {
  readonly namespace: string;
  readonly pipeline: string;
}

const ITEM_RESULTS = [
  'unchanged',
  'added',
  'reprocessed',
  'deleted',
  'failed',
  'superseded',
] as const satisfies readonly (keyof Counts)[];

export class DispatchMetrics implements DispatchEvents {
  readonly #registry: MetricRegistry;
  readonly #clock: Clock;
  readonly #of: PipelineName;
  readonly #counters = new Map<string, Counter>();
  readonly #recorders = new Map<string, Recorder>();
  readonly #startedMs = new WeakMap<RunView, number>();

  constructor(registry: MetricRegistry, clock: Clock, of: PipelineName) {
    this.#registry = registry;
    this.#clock = clock;
    this.#of = of;
  }

  granted(run: RunView, reason: GrantReason): void {
    this.#startedMs.set(run, this.#clock.nowMs());
    const outcome = reason.isLoan ? 'loan' : reason.waitedMs > 0 ? 'waited' : 'free';
    this.#count('fairlead_grants_total', outcome, { outcome });
    this.#record('fairlead_run_wait_seconds', run.kind, reason.waitedMs / 1000);
  }

  ended(run: RunView, outcome: RunOutcome): void {
    const startedMs = this.#startedMs.get(run);
    if (startedMs !== undefined)
      this.#record('fairlead_run_seconds', run.kind, (this.#clock.nowMs() - startedMs) / 1000);
    const key = `${run.kind}/${outcome.kind}`;
    this.#counterOf('fairlead_runs_total', key, () =>
      this.#registry.counter('fairlead_runs_total', { ...this.#of, kind: run.kind, result: outcome.kind }),
    ).add(1);
  }

  parked(): void {
    this.#count('fairlead_retries_total', 'parked', { reason: 'parked' });
  }

  lost(): void {
    this.#count('fairlead_retries_total', 'lost', { reason: 'lost' });
  }

  runnerLeft(_runner: string, why: 'removed' | 'lost'): void {
    if (why === 'lost') this.#registry.counter('fairlead_runners_lost_total', this.#of).add(1);
  }

  updateEnded(update: UpdateView, ending: UpdateEnding): void {
    const source = update.start.source ?? '';
    const { kind } = update;
    this.#registry.counter('fairlead_updates_total', { ...this.#of, source, kind, result: ending.result }).add(1);
    this.#record('fairlead_update_seconds', kind, (this.#clock.nowMs() - update.requestedAtMs) / 1000);
    for (const result of ITEM_RESULTS) {
      if (ending.counts[result] > 0)
        this.#registry.counter('fairlead_items_total', { ...this.#of, source, result }).add(ending.counts[result]);
    }
  }

  #count<N extends 'fairlead_grants_total' | 'fairlead_retries_total'>(
    name: N,
    key: string,
    labels: Readonly<Record<string, string>>,
  ): void {
    this.#counterOf(name, key, () => this.#registry.counter(name, { ...this.#of, ...labels } as never)).add(1);
  }

  #counterOf(name: string, key: string, make: () => Counter): Counter {
    return getOrMake(this.#counters, `${name}/${key}`, make);
  }

  #record(
    name: 'fairlead_run_wait_seconds' | 'fairlead_run_seconds' | 'fairlead_update_seconds',
    kind: string,
    seconds: number,
  ): void {
    const make = (): Recorder => this.#registry.histogram(name, { ...this.#of, kind });
    getOrMake(this.#recorders, `${name}/${kind}`, make).record(seconds);
  }
}
