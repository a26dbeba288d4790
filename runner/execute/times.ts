// Where the time of one attempt of a run goes, for the trace of its update.
//   T1. Only runs of a traced update have one (`Run.times`); without it nothing is measured.
//   T2. Bounded: RUN_SPANS_MAX spans; later ones are not told apart.
//   T3. Nothing here changes what a run does, and no text of an item or of a message gets in.
import type { Clock } from '../clock.ts';
import {
  FIRST_SPAN_PLACE,
  formatTraceparent,
  parseTraceparent,
  RUN_PLACE,
  RUN_SPANS_MAX,
  type RunOrder,
  type RunSpan,
  type RunSpanKind,
  type RunTrace,
  spanIdOf,
} from '../protocol/index.ts';

/** Of a span that is not told apart (T2). */
export const NO_PLACE = -1;

type Draft = { -readonly [K in keyof RunSpan]: RunSpan[K] };

export class RunTimes {
  readonly #order: RunOrder;
  readonly #clock: Clock;
  readonly #startedAtMs: number;
  readonly #originMs: number;
  readonly #spans: Draft[] = [];
  /** Place of the step that executes: steps of a run follow one another, and what happens meanwhile is theirs. */
  #step: number | undefined;

  /** Undefined: the run's update is not traced. */
  static of(order: RunOrder, clock: Clock, startedAtMs: number): RunTimes | undefined {
    return order.traceparent === undefined ? undefined : new RunTimes(order, clock, startedAtMs);
  }

  private constructor(order: RunOrder, clock: Clock, startedAtMs: number) {
    this.#order = order;
    this.#clock = clock;
    this.#startedAtMs = startedAtMs;
    this.#originMs = this.#fineMs();
  }

  /** Begins a span and answers its place, for `end`. `count`: how many it is of. */
  begin(kind: RunSpanKind, name: string, count?: number): number {
    if (this.#spans.length >= RUN_SPANS_MAX) return NO_PLACE;
    const span: Draft = { kind, name, startMs: this.#sinceStart(), durationMs: 0 };
    if (count !== undefined) span.count = count;
    if (this.#step !== undefined) span.in = this.#step;
    const place = this.#spans.push(span) - 1;
    if (kind === 'step') this.#step = place;
    return place;
  }

  /** Ends a span, which may have failed. */
  end(place: number, failure?: RunSpan['failure']): void {
    const span = this.#spans[place];
    if (span === undefined) return;
    span.durationMs = this.#sinceStart() - span.startMs;
    if (failure !== undefined) span.failure = failure;
    if (this.#step === place) this.#step = span.in;
  }

  /** What the newest span of a kind turned out to be of. */
  describe(kind: RunSpanKind, what: Pick<RunSpan, 'count' | 'detail'>): void {
    const span = this.#spans.findLast((one) => one.kind === kind);
    if (span !== undefined) Object.assign(span, what);
  }

  /** Trace context of the step that executes, for requests that it makes. */
  get traceparent(): string | undefined {
    const context = parseTraceparent(this.#order.traceparent); // here and not sooner: most runs never ask
    if (context === undefined) return undefined;
    const { traceId, isSampled } = context;
    const place = this.#step === undefined ? RUN_PLACE : FIRST_SPAN_PLACE + this.#step;
    return formatTraceparent({ traceId, spanId: spanIdOf(traceId, this.#order.token, place), isSampled });
  }

  get durationMs(): number {
    return this.#sinceStart();
  }

  taken(): RunTrace {
    return { startedAtMs: this.#startedAtMs, durationMs: this.#sinceStart(), spans: this.#spans };
  }

  #sinceStart(): number {
    return this.#fineMs() - this.#originMs;
  }

  #fineMs(): number {
    return this.#clock.fineMs?.() ?? this.#clock.nowMs();
  }
}
