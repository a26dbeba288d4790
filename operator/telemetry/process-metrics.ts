// What a scrape finds of this process.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { MetricRegistry } from './registry.ts';

const RESOLUTION_MS = 20;

export class ProcessMetrics {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor() {
    this.#delay.enable();
  }

  observe(registry: MetricRegistry): void {
    // Timers of the monitor themselves come late by its resolution.
    const delayMs = Math.max(0, this.#delay.percentile(99) / 1e6 - RESOLUTION_MS);
    this.#delay.reset();
    const { rss, heapUsed } = process.memoryUsage();
    registry.setGauge('fairlead_event_loop_delay_seconds', {}, Number.isFinite(delayMs) ? delayMs / 1000 : 0);
    registry.setGauge('fairlead_memory_bytes', { kind: 'resident' }, rss);
    registry.setGauge('fairlead_memory_bytes', { kind: 'heap' }, heapUsed);
  }

  close(): void {
    this.#delay.disable();
  }
}
