// Freshness over time: samples of how old the oldest change is that targets do not show, for the dashboard's lines.
//   F1. Bounded: one sample every ten seconds, an hour of them, and 500 series, the first ones by name.
import type { Clock } from '../clock.ts';
import { staleMs } from './views.ts';
import type { Watched } from './watched.ts';

export interface FreshnessPoint {
  readonly atMs: number;
  readonly staleMs: number;
}

const EVERY_MS = 10_000;
const POINTS_MAX = 360;
const SERIES_MAX = 500;

export class FreshnessHistory {
  readonly #series = new Map<string, FreshnessPoint[]>();
  readonly #clock: Clock;
  readonly #hosts: () => Iterable<Watched>;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, hosts: () => Iterable<Watched>) {
    this.#clock = clock;
    this.#hosts = hosts;
  }

  start(): void {
    this.sample();
    this.#cancel = this.#clock.after(EVERY_MS, () => this.start());
  }

  stop(): void {
    this.#cancel?.();
  }

  /** Oldest first; empty where nothing is known. */
  of(pipeline: string, source: string): readonly FreshnessPoint[] {
    return this.#series.get(`${pipeline}/${source}`) ?? [];
  }

  sample(): void {
    const atMs = this.#clock.nowMs();
    const seen = new Set<string>();
    for (const host of this.#hosts()) {
      for (const source of host.sources) {
        const name = `${host.name}/${source}`;
        if (seen.size >= SERIES_MAX && !this.#series.has(name)) continue;
        seen.add(name);
        const points = this.#series.get(name) ?? [];
        points.push({ atMs, staleMs: staleMs(host.records(source), atMs) });
        if (points.length > POINTS_MAX) points.shift();
        this.#series.set(name, points);
      }
    }
    for (const name of this.#series.keys()) if (!seen.has(name)) this.#series.delete(name);
  }
}
