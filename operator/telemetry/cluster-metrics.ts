// What an operator has to do with its cluster, as numbers: requests to the API server, watches, queues, reconciliations, statuses, the lead.
import { type Counter, getOrMake, type MetricRegistry, type Recorder } from './registry.ts';

/** The operator at the moment of a scrape. */
export interface ClusterPicture {
  readonly isLeading: boolean;
  /** Objects that wait to be reconciled, by kind. */
  readonly queues: Readonly<Record<string, number>>;
  /** Statuses written since this process leads. */
  readonly statusWrites: number;
}

export class ClusterMetrics {
  readonly #registry: MetricRegistry;
  readonly #requests = new Map<string, Counter>();
  readonly #times = new Map<string, Recorder>();
  #statusWrites = 0;

  constructor(registry: MetricRegistry) {
    this.#registry = registry;
  }

  observe({ isLeading, queues, statusWrites }: ClusterPicture): void {
    this.#registry.setGauge('fairlead_leader', {}, isLeading ? 1 : 0);
    for (const [queue, depth] of Object.entries(queues))
      this.#registry.setGauge('fairlead_reconcile_queue_depth', { queue }, depth);
    const more = Math.max(0, statusWrites - this.#statusWrites);
    this.#registry.counter('fairlead_status_writes_total', {}).add(more);
    this.#statusWrites = statusWrites;
  }

  requestEnded(verb: string, _path: string, code: number, tookMs: number): void {
    this.#countRequest(verb, code);
    getOrMake(this.#times, verb, () => this.#registry.histogram('fairlead_api_request_seconds', { verb })).record(
      tookMs / 1000,
    );
  }

  /** One that got no answer is counted here alone: the others ended first. */
  requestRetried(verb: string, _path: string, code: number): void {
    if (code === 0) this.#countRequest(verb, 0);
  }

  missed(kind: string, changes: number): void {
    this.#registry.counter('fairlead_watch_missed_total', { kind }).add(changes);
  }

  reconciled(queue: string, result: 'settled' | 'failed', tookMs: number): void {
    this.#registry.histogram('fairlead_reconcile_seconds', { queue, result }).record(tookMs / 1000);
  }

  #countRequest(verb: string, code: number): void {
    getOrMake(this.#requests, `${verb} ${code}`, () =>
      this.#registry.counter('fairlead_api_requests_total', { verb, code: `${code}` }),
    ).add(1);
  }
}
