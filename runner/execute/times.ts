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

type Draft = { -readonly [K in keyof RunSpan]: RunSpan[K] };

/** Ends a span, which may have failed. */
export type EndSpan = (failure?: RunSpan['failure']) => void;

export class RunTimes {
  readonly #order: RunOrder;
  readonly #clock: Clock;
  readonly #startedAtMs: number;
  readonly #originMs: number;
  readonly #spans: Draft[] = [];
  /** Place of the step that executes: steps of a run follow one another, and what happens meanwhile is theirs. */
  #step: number | undefined;

  /** Undefined: the run's update is not traced. */
  static of(order: RunOrder, clock: Clock): RunTimes | undefined {
    return order.traceparent === undefined ? undefined : new RunTimes(order, clock);
  }

  private constructor(order: RunOrder, clock: Clock) {
    this.#order = order;
    this.#clock = clock;
    this.#startedAtMs = clock.nowMs();
    this.#originMs = this.#fineMs();
  }

  /** Begins a span. `count`: how many it is of. */
  begin(kind: RunSpanKind, name: string, count?: number): EndSpan {
    if (this.#spans.length >= RUN_SPANS_MAX) return nothing;
    const startMs = this.#sinceStart();
    const span: Draft = { kind, name, startMs, durationMs: 0 };
    if (count !== undefined) span.count = count;
    if (this.#step !== undefined) span.in = this.#step;
    const place = this.#spans.push(span) - 1;
    if (kind === 'step') this.#step = place;
    return (failure) => {
      span.durationMs = this.#sinceStart() - startMs;
      if (failure !== undefined) span.failure = failure;
      if (this.#step === place) this.#step = span.in;
    };
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

function nothing(): void {}
