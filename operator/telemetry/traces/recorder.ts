// Follows the dispatcher of one Pipeline and makes a trace of each update.
// Owns:   which updates are traced, what a wait was for, links to causes.
// Leaves: where the time of a run went (its runner tells), which runs are told (runner/execute/choice.ts), where spans go (sink.ts).
//   W1. A decision costs the recorder a few writes; spans are made for the runs that are kept, when they end.
import {
  formatTraceparent,
  newTraceId,
  parseTraceparent,
  type RunOutcome,
  type RunTrace,
  type TraceContext,
} from '../../../runner/protocol/index.ts';
import type { Clock } from '../../clock.ts';
import type {
  Cause,
  DispatchEvents,
  Followed,
  GrantReason,
  RunView,
  SlotCounts,
  UpdateEnding,
  UpdateView,
} from '../../dispatch/index.ts';
import type { RecentTraces } from './recent.ts';
import { GRANTS_MAX, ServedGrants } from './served.ts';
import { NO_SINK, type SpanSink } from './sink.ts';
import { errorOf, type HowEnded, type Wait } from './spans.ts';
import type { TraceLink } from './tree.ts';
import { UpdateTrace, updateAttributes } from './update-trace.ts';

export interface RecorderOptions {
  readonly pipeline: string;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly recent: RecentTraces;
  /** Absent: spans stay here. */
  readonly sink?: SpanSink;
}

/** Grants that are looked at for a wait below the root: a trace may show hundreds of those. */
const GRANTS_LOOKED_AT = 128;
/** Sources that a wait names at most. */
const NAMED_MAX = 8;
/** Sources that are looked at when a root run that waited is granted. */
const LOOKED_AT_MAX = 1_000;
/** Updates of the Pipeline itself, as waits name them. */
const OWN = 'the Pipeline itself';

export class TraceRecorder implements DispatchEvents {
  readonly #options: RecorderOptions;
  readonly #traces = new Map<UpdateView, UpdateTrace>();
  readonly #grants = new ServedGrants();
  #host: Followed | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Who can say what waits and holds. */
  follow(host: Followed): void {
    this.#host = host;
  }

  /** Begins the trace of an update that opens, or goes on with that of one that is taken over. */
  traceparentOf(update: UpdateView): string {
    const { pipeline, clock, random, sink = NO_SINK, recent } = this.#options;
    const known = parseTraceparent(update.start.traceparent);
    const context = known ?? this.#newContext(update, clock.nowMs(), random);
    const trace = new UpdateTrace(pipeline, update, context, known !== undefined, sink);
    this.#traces.set(update, trace);
    recent.opened(trace);
    return formatTraceparent(context);
  }

  granted(run: RunView, { isLoan }: GrantReason): void {
    if (run.parent === undefined) this.#rootGranted(run, isLoan);
    this.#grants.add(run.update.start.source ?? OWN, run.grantedAtMs);
  }

  ended(run: RunView, outcome: RunOutcome, trace?: RunTrace): void {
    this.#attempted(run, { error: errorOf(outcome), trace });
  }

  parked(run: RunView, outcome: RunOutcome & { readonly kind: 'parked' }, trace?: RunTrace): void {
    this.#attempted(run, { error: errorOf(outcome), trace, againAfterMs: outcome.resumeAfterMs });
  }

  lost(run: RunView, runner: string): void {
    const message = `its runner ${runner} went away`;
    this.#attempted(run, { error: { class: 'lost', message }, trace: undefined });
  }

  updateEnded(update: UpdateView, ending: UpdateEnding): void {
    const trace = this.#traces.get(update);
    if (trace === undefined) return;
    this.#traces.delete(update);
    trace.ended(ending, this.#linksOf(update, trace), this.#options.clock.nowMs());
    this.#options.recent.ended(trace);
  }

  #newContext(update: UpdateView, nowMs: number, random: () => number): TraceContext {
    const traceId = newTraceId(nowMs, random);
    const { sink = NO_SINK } = this.#options;
    const isSampled = sink.isSampled(traceId, updateAttributes(this.#options.pipeline, update));
    return { traceId, spanId: newTraceId(nowMs, random).slice(-16).replace(/^0+$/, '1'), isSampled };
  }

  /** The wait of a root run is told at once, with what decided: should this operator die, it is known. */
  #rootGranted(run: RunView, isLoan: boolean): void {
    const wait = this.#waitOf(run);
    if (wait === undefined) return;
    const decided = { 'fairlead.wait.counts': this.#countsNow(), 'fairlead.wait.on_loan': isLoan };
    this.#traces.get(run.update)?.waited(run, { attributes: { ...wait.attributes, ...decided } });
  }

  /** Who holds and who waits, as it stands when a run is granted: those that hold most first. */
  #countsNow(): string[] {
    const host = this.#host;
    if (host === undefined) return [];
    const own = { name: OWN, ...host.activity(undefined) };
    const all: (SlotCounts & { readonly name: string })[] = [];
    for (const name of host.sources) {
      if (all.length >= LOOKED_AT_MAX) break;
      const { held, waiting } = host.activity(name);
      own.held -= held;
      own.waiting -= waiting;
      if (held + waiting > 0) all.push({ name, held, waiting });
    }
    if (own.held + own.waiting > 0) all.push(own);
    all.sort((a, b) => b.held - a.held || b.waiting - a.waiting);
    return all.slice(0, NAMED_MAX).map(({ name, held, waiting }) => `${name}: ${held} held, ${waiting} waiting`);
  }

  #attempted(run: RunView, how: HowEnded): void {
    if (run.grantedTo === undefined) return; // not executed: withdrawn, superseded, or reused
    const trace = this.#traces.get(run.update);
    if (trace?.keeps(run, how) !== true) return;
    const wait = run.parent === undefined ? undefined : this.#waitOf(run);
    trace.attempted({ run, endMs: this.#options.clock.nowMs(), ...how }, wait);
  }

  /** Undefined: it did not wait. */
  #waitOf(run: RunView): Wait | undefined {
    const waitedMs = run.grantedAtMs - run.requestedAtMs;
    if (waitedMs <= 0) return undefined;
    const most = run.parent === undefined ? GRANTS_MAX : GRANTS_LOOKED_AT;
    const served = this.#grants.since(run.requestedAtMs, run.grantedAtMs, most);
    const by = served.by.slice(0, NAMED_MAX).map(({ name, grants }) => `${name}: ${grants}`);
    return {
      attributes: {
        'fairlead.queue.wait': waitedMs,
        'fairlead.wait.grants': served.total,
        'fairlead.wait.served_instead': by,
        'fairlead.wait.is_whole': served.isWhole,
      },
    };
  }

  /** Links to who asked, and to spans that stand for triggers which had no trace of their own. */
  #linksOf(update: UpdateView, trace: UpdateTrace): TraceLink[] {
    const [first, ...more] = update.causes;
    // A lone trigger without anything to point at: the root names it already.
    if (more.length === 0 && first?.traceparent === undefined && first?.revision === undefined) return [];
    return update.causes.map((cause) => {
      const known = parseTraceparent(cause.traceparent);
      const { trigger, atMs, revision } = cause;
      const common = { trigger, atMs, ...(revision !== undefined && { revision }) };
      if (known !== undefined) return { ...common, traceId: known.traceId, spanId: known.spanId };
      return { ...common, ...this.#triggerSpan(cause, update, trace) };
    });
  }

  #triggerSpan({ trigger, atMs, revision }: Cause, update: UpdateView, trace: UpdateTrace) {
    const { random, sink = NO_SINK, pipeline } = this.#options;
    const traceId = newTraceId(atMs, random);
    const spanId = traceId.slice(-16).replace(/^0+$/, '1');
    if (trace.context.isSampled) {
      const attributes = {
        ...updateAttributes(pipeline, update),
        'fairlead.trigger': trigger,
        ...(revision !== undefined && { 'vcs.ref.head.revision': revision }),
      };
      const name = `trigger ${trigger}`;
      sink.put({ traceId, spanId, kind: 'trigger', name, startMs: atMs, endMs: atMs, attributes });
    }
    return { traceId, spanId };
  }
}
