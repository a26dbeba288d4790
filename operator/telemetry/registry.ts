// What is counted, kept so that counting costs tens of nanoseconds: a series is looked up once and then added to directly.
// The OpenTelemetry SDK only reads: it serialises for Prometheus and exports over OTLP.
//   M3. Every metric has at most `SERIES_MAX` series. What comes beyond is counted in one series whose labels are `other`, and
//       `overflowed` says so; nothing grows with the number of items.
//   M4. A series whose object is gone is dropped by `forget`, so that a deleted Pipeline leaves nothing behind.

import { type HrTime, ValueType } from '@opentelemetry/api';
import { AggregationTemporality, type DataPoint, DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import type { Clock } from '../clock.ts';
import {
  type CounterName,
  definitionOf,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  METRICS,
  type MetricName,
} from './definitions.ts';

export const SERIES_MAX = 2_000;
const OTHER = 'other';

type Labels = Readonly<Record<string, string>>;

interface Series<T> {
  readonly labels: Labels;
  value: T;
}

/** A counter's series: add to it. */
export interface Counter {
  add(amount: number): void;
}

/** A histogram's series: put values into it. */
export interface Recorder {
  record(value: number): void;
  /** Adds what was counted elsewhere: values by bucket, and their sum. */
  merge(counts: readonly number[], sum: number): void;
}

interface Distribution {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum: number;
  count: number;
}

export class MetricRegistry {
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #numbers = new Map<MetricName, Map<string, Series<number>>>();
  readonly #distributions = new Map<MetricName, Map<string, Series<Distribution>>>();
  readonly #observers: (() => void)[] = [];
  #overflowed = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.nowMs();
  }

  /** Series that did not fit (M3). */
  get overflowed(): number {
    return this.#overflowed;
  }

  counter<N extends CounterName>(name: N, labels: LabelsOf<N>): Counter {
    const series = this.#number(name, labels);
    return {
      add: (amount) => {
        series.value += amount;
      },
    };
  }

  setGauge<N extends GaugeName>(name: N, labels: LabelsOf<N>, value: number): void {
    this.#number(name, labels).value = value;
  }

  histogram<N extends HistogramName>(name: N, labels: LabelsOf<N>): Recorder {
    const { value } = this.#distribution(name, labels);
    return { record: (seconds) => record(value, seconds), merge: (counts, sum) => merge(value, counts, sum) };
  }

  /** Called before each read, to set gauges that are looked up rather than followed. */
  observe(observer: () => void): void {
    this.#observers.push(observer);
  }

  /** Drops every series of a gauge, so that those that are set next are all there are. */
  clear(name: GaugeName): void {
    this.#numbers.delete(name);
  }

  /** Drops every series with these labels (M4). */
  forget(labels: Labels): void {
    const wanted = Object.entries(labels);
    for (const table of [...this.#numbers.values(), ...this.#distributions.values()]) {
      for (const [key, series] of table as Map<string, Series<unknown>>) {
        if (wanted.every(([name, value]) => series.labels[name] === value)) table.delete(key);
      }
    }
  }

  /** Everything, as the SDK takes it. Ordered by name, so that two reads compare. */
  collect(): MetricData[] {
    for (const observer of this.#observers) observer();
    return (Object.keys(METRICS) as MetricName[]).sort().flatMap((name) => this.#read(name));
  }

  #read(name: MetricName): MetricData[] {
    const { kind, help, unit } = definitionOf(name);
    const common = {
      descriptor: { name, description: help, unit, valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    };
    if (kind === 'histogram') {
      const dataPoints = this.#points(this.#distributions.get(name), ({ bounds, counts, sum, count }) => ({
        buckets: { boundaries: [...bounds], counts: [...counts] },
        sum,
        count,
      }));
      return dataPoints.length === 0 ? [] : [{ ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints }];
    }
    const dataPoints = this.#points(this.#numbers.get(name), (value) => value);
    if (dataPoints.length === 0) return [];
    if (kind === 'gauge') return [{ ...common, dataPointType: DataPointType.GAUGE, dataPoints }];
    return [{ ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }];
  }

  #points<T, V>(table: ReadonlyMap<string, Series<T>> | undefined, read: (value: T) => V): DataPoint<V>[] {
    const [startTime, endTime] = [hrTime(this.#startMs), hrTime(this.#clock.nowMs())];
    const series = [...(table ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    return series.map(([, { labels, value }]) => ({
      startTime,
      endTime,
      attributes: { ...labels },
      value: read(value),
    }));
  }

  #number(name: MetricName, labels: Labels): Series<number> {
    return this.#series(this.#numbers, name, labels, () => 0);
  }

  #distribution(name: MetricName, labels: Labels): Series<Distribution> {
    return this.#series(this.#distributions, name, labels, () => {
      const bounds = definitionOf(name).buckets ?? [];
      return { bounds, counts: new Array(bounds.length + 1).fill(0), sum: 0, count: 0 };
    });
  }

  #series<T>(
    tables: Map<MetricName, Map<string, Series<T>>>,
    name: MetricName,
    labels: Labels,
    first: () => T,
  ): Series<T> {
    const table = getOrMake(tables, name, () => new Map<string, Series<T>>());
    const key = keyOf(name, labels);
    const known = table.get(key);
    if (known !== undefined) return known;
    if (table.size >= SERIES_MAX) {
      const other = Object.fromEntries(definitionOf(name).labels.map((label) => [label, OTHER]));
      const isOther = Object.values(labels).every((value) => value === OTHER);
      if (!isOther) {
        this.#overflowed++;
        return this.#series(tables, name, other, first);
      }
    }
    const series: Series<T> = { labels: { ...labels }, value: first() };
    table.set(key, series);
    return series;
  }
}

/** The value of a key, made and kept at first sight. */
export function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

const keyOf = (name: MetricName, labels: Labels): string =>
  definitionOf(name)
    .labels.map((label) => labels[label] ?? '')
    .join('\0');

function record(into: Distribution, value: number): void {
  let bucket = 0;
  while (bucket < into.bounds.length && value > into.bounds[bucket]!) bucket++;
  into.counts[bucket]!++;
  into.sum += value;
  into.count++;
}

function merge(into: Distribution, counts: readonly number[], sum: number): void {
  for (const [bucket, count] of counts.entries()) {
    into.counts[bucket]! += count;
    into.count += count;
  }
  into.sum += sum;
}

const hrTime = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
