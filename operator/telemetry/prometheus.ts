// Metrics as text for Prometheus.
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { emptyResource } from '@opentelemetry/resources';
import type { MetricRegistry } from './registry.ts';

const SCOPE = { name: 'fairlead' };

export const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The text that a scrape answers. */
export function prometheusText(registry: MetricRegistry): string {
  // Scope and target labels would repeat one constant on every series.
  const serializer = new PrometheusSerializer('', false, undefined, true, true);
  const scopeMetrics = [{ scope: SCOPE, metrics: registry.collect() }];
  return serializer.serialize({ resource: emptyResource(), scopeMetrics });
}
