// Follows the dispatcher of one Pipeline and counts. Every call is on the path of a decision, so it only adds to series that were looked up
// once and are kept.
import type { RunnerStats, RunOutcome } from '../../runner/protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { CardView, DispatchEvents, GrantReason, RunView, UpdateEnding, UpdateView } from '../dispatch/index.ts';
import { type Counter, getOrMake, type MetricRegistry, type Recorder } from './registry.ts';

export interface PipelineName {
  readonly namespace: string;
  readonly pipeline: string;
}

const ITEM_RESULTS = ['unchanged', 'added', 'reprocessed', 'deleted', 'failed', 'superseded'] as const;

/** Series of the runs of one kind. */
interface OfKind {
  readonly kind: string;
  readonly wait: Recorder;
  readonly took: Recorder;
  readonly ended: { [result in RunOutcome['kind']]?: Counter };
}

export class DispatchMetrics implements DispatchEvents {
  readonly #registry: MetricRegistry;
  readonly #clock: Clock;
  readonly #of: PipelineName;
  readonly #kinds = new Map<string, OfKind>();
  /** The one that was asked for last: runs of one kind come in rows. */
  #last: OfKind | undefined;
  readonly #grants: Readonly<Record<'free' | 'waited' | 'loan', Counter>>;

  constructor(registry: MetricRegistry, clock: Clock, of: PipelineName) {
    this.#registry = registry;
    this.#clock = clock;
    this.#of = of;
    const grants = (outcome: string) => registry.counter('fairlead_grants_total', { ...of, outcome });
    this.#grants = { free: grants('free'), waited: grants('waited'), loan: grants('loan') };
  }

  granted(run: RunView, { isLoan, waitedMs }: GrantReason): void {
    const outcome = isLoan ? 'loan' : waitedMs > 0 ? 'waited' : 'free';
    this.#grants[outcome].add(1);
    this.#kind(run.kind).wait.record(waitedMs / 1000);
  }

  ended(run: RunView, outcome: RunOutcome): void {
    const kind = this.#kind(run.kind);
    if (run.grantedTo !== undefined) kind.took.record((this.#clock.nowMs() - run.grantedAtMs) / 1000);
    (kind.ended[outcome.kind] ?? this.#endedCounter(kind, outcome.kind)).add(1);
  }

  parked(_run: RunView, { error }: RunOutcome & { readonly kind: 'parked' }): void {
    this.#retry(error.class, 1);
  }

  lost(): void {
    this.#retry('lost', 1);
  }

  runnerLeft(_runner: string, why: 'removed' | 'lost'): void {
    if (why === 'lost') this.#registry.counter('fairlead_runners_lost_total', this.#of).add(1);
  }

  cardReturned({ milli, grantedAtMs }: CardView, bodyMs: number | undefined): void {
    if (grantedAtMs === undefined) return;
    const share = milli / 1000 / 1000; // of a card, and seconds
    const add = (name: 'fairlead_card_granted_seconds_total' | 'fairlead_card_busy_seconds_total', ms: number) =>
      this.#registry.counter(name, this.#of).add(ms * share);
    add('fairlead_card_granted_seconds_total', this.#clock.nowMs() - grantedAtMs);
    add('fairlead_card_busy_seconds_total', bodyMs ?? 0);
  }

  measured(_runner: string, { commits, committed, retries, calls }: RunnerStats): void {
    this.#registry.histogram('fairlead_commit_components', this.#of).merge(commits, committed);
    for (const [reason, count] of Object.entries(retries)) this.#retry(reason, count ?? 0);
    for (const [result, count] of Object.entries(calls))
      this.#registry.counter('fairlead_calls_total', { ...this.#of, result }).add(count ?? 0);
  }

  updateEnded(update: UpdateView, ending: UpdateEnding): void {
    const source = update.start.source ?? '';
    const { kind } = update;
    this.#registry.counter('fairlead_updates_total', { ...this.#of, source, kind, result: ending.result }).add(1);
    const seconds = (this.#clock.nowMs() - update.requestedAtMs) / 1000;
    this.#registry.histogram('fairlead_update_seconds', { ...this.#of, kind }).record(seconds);
    for (const result of ITEM_RESULTS) {
      const count = ending.counts[result];
      if (count > 0) this.#registry.counter('fairlead_items_total', { ...this.#of, source, result }).add(count);
    }
  }

  #retry(reason: string, count: number): void {
    this.#registry.counter('fairlead_retries_total', { ...this.#of, reason }).add(count);
  }

  #kind(kind: string): OfKind {
    if (this.#last?.kind !== kind) this.#last = getOrMake(this.#kinds, kind, () => this.#newKind(kind));
    return this.#last;
  }

  #newKind(kind: string): OfKind {
    const of = { ...this.#of, kind };
    const wait = this.#registry.histogram('fairlead_run_wait_seconds', of);
    return { kind, wait, took: this.#registry.histogram('fairlead_run_seconds', of), ended: {} };
  }

  #endedCounter({ kind, ended }: OfKind, result: RunOutcome['kind']): Counter {
    const counter = this.#registry.counter('fairlead_runs_total', { ...this.#of, kind, result });
    ended[result] = counter;
    return counter;
  }
}
