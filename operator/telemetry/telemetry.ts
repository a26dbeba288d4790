// Metrics and traces of one process: what follows its hosts, and what scrapes, `fairlead trace` and the dashboard read.
import type { Clock } from '../clock.ts';
import type { Follower } from '../dispatch/index.ts';
import type { Log } from '../log.ts';
import { ClusterMetrics } from './cluster-metrics.ts';
import { DispatchMetrics } from './dispatch-metrics.ts';
import { HostMetrics, type MeasuredHost } from './host-metrics.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { prometheusText } from './prometheus.ts';
import { MetricRegistry } from './registry.ts';
import { RecentTraces } from './traces/recent.ts';
import { TraceRecorder } from './traces/recorder.ts';
import type { SpanSink } from './traces/sink.ts';
import { UpdateLog } from './update-log.ts';

export interface TelemetryOptions {
  readonly clock: Clock;
  /** In [0, 1). Default: Math.random. */
  readonly random?: () => number;
  /** Where spans go beyond this process. Absent: they are only kept here. */
  readonly sink?: SpanSink;
  /** Where what becomes of updates is said. */
  readonly log?: Log;
  /** False: updates are not traced at all, and metrics are all there is. */
  readonly traces?: boolean;
}

export class Telemetry {
  readonly registry: MetricRegistry;
  readonly traces = new RecentTraces();
  /** Of an operator in a cluster. */
  readonly cluster: ClusterMetrics;
  readonly #options: TelemetryOptions;
  readonly #process = new ProcessMetrics();

  constructor(options: TelemetryOptions) {
    this.#options = options;
    this.registry = new MetricRegistry(options.clock);
    this.cluster = new ClusterMetrics(this.registry);
    this.registry.observe(() => this.#process.observe(this.registry));
  }

  /** What a host is given. `pipeline`: "namespace/name". */
  follow(pipeline: string): Follower {
    const { clock, log } = this.#options;
    const [namespace, name] = pipeline.split('/') as [string, string];
    const metrics = new DispatchMetrics(this.registry, clock, { namespace, pipeline: name });
    const recorder = this.#recorder(pipeline);
    return {
      events: [
        metrics,
        ...(recorder === undefined ? [] : [recorder]),
        ...(log === undefined ? [] : [new UpdateLog(log, clock, pipeline)]),
      ],
      traceparentOf: (update) => recorder?.traceparentOf(update),
      attach: (pipeline) => recorder?.follow(pipeline),
    };
  }

  /** Gauges are looked up in these hosts at each scrape. */
  observe(hosts: () => Iterable<MeasuredHost>): void {
    const metrics = new HostMetrics(this.registry, this.#options.clock);
    this.registry.observe(() => metrics.observe(hosts()));
  }

  /** A Pipeline is gone: nothing of it stays. */
  forget(pipeline: string): void {
    const [namespace, name] = pipeline.split('/') as [string, string];
    this.registry.forget({ namespace, pipeline: name });
    this.traces.forget(pipeline);
  }

  /** What a scrape gets. */
  metricsText(): string {
    return prometheusText(this.registry);
  }

  close(): void {
    this.#process.close();
  }

  #recorder(pipeline: string): TraceRecorder | undefined {
    const { clock, random = Math.random, sink, traces } = this.#options;
    if (traces === false) return undefined;
    return new TraceRecorder({ pipeline, clock, random, recent: this.traces, ...(sink !== undefined && { sink }) });
  }
}
