export * from './definitions.ts';
export * from './dispatch-metrics.ts';
export * from './prometheus.ts';
export { metricsReference } from './reference.ts';
export * from './registry.ts';
