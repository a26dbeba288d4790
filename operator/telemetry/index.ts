<<<<<<< HEAD
export type { ClusterPicture } from './cluster-metrics.ts';
=======
export * from './decision-log.ts';
>>>>>>> b03ab1e (Record decisions and replay them under another rule, slots or weights: fairlead simulate --replay)
export * from './definitions.ts';
export * from './dispatch-metrics.ts';
export * from './host-metrics.ts';
export * from './prometheus.ts';
export { metricsReference } from './reference.ts';
export * from './registry.ts';
export { type Follower, Telemetry, type TelemetryOptions } from './telemetry.ts';
export { type OtelSink, openOtel, wantsExport } from './traces/otel.ts';
export type { RecentTraces } from './traces/recent.ts';
export type { ExportedSpan, SpanSink } from './traces/sink.ts';
export type * from './traces/tree.ts';
