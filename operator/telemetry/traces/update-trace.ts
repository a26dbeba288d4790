// The trace of one update while it is open: which of its runs are kept, their spans, and what the root says at the end.
//   U1. Kept: every run whose runner told of it (runner/execute/choice.ts), every failure, and the parents of what is kept; up to RUNS_MAX
//       runs and FAILURES_MAX failures. The rest is counted.
//   U2. A span is exported as soon as its run ended, so that an operator that dies takes few with it; the root last.
//   U3. An operator that takes the update over goes on with the same trace id and root span (X1, X2 of runner/protocol/trace-context.ts).
import { askedAtMsOf, type Counts, type TraceContext } from '../../../runner/protocol/index.ts';
import type { RunView, UpdateEnding, UpdateView } from '../../dispatch/index.ts';
import type { KnownTrace } from './recent.ts';
import type { SpanSink } from './sink.ts';
import { attemptSpans, type EndedAttempt, type HowEnded, present, type Wait, waitSpan } from './spans.ts';
import { type Attributes, type SpanRecord, type TraceLink, type TraceTree, treeOf } from './tree.ts';

/** Runs of one update that are kept, those that failed apart. */
const RUNS_MAX = 1_500;
const FAILURES_MAX = 1_000;

export class UpdateTrace implements KnownTrace {
  readonly pipeline: string;
  readonly context: TraceContext;
  readonly isTakenOver: boolean;
  readonly #update: UpdateView;
  readonly #sink: SpanSink;
  readonly #spans: SpanRecord[] = [];
  /** Runs below which something was kept. */
  readonly #needed = new Set<number>();
  #runs = 0;
  #kept = 0;
  #failures = 0;
  #leftOut = 0;
  #links: readonly TraceLink[] = [];
  #ending: UpdateEnding | undefined;
  #endedAtMs: number | undefined;
  #revision: string | undefined;

  constructor(pipeline: string, update: UpdateView, context: TraceContext, isTakenOver: boolean, sink: SpanSink) {
    this.pipeline = pipeline;
    this.context = context;
    this.isTakenOver = isTakenOver;
    this.#update = update;
    this.#sink = sink;
  }

  get update(): string {
    return this.#update.name;
  }

  get traceId(): string {
    return this.context.traceId;
  }

  get source(): string {
    return this.#update.start.source ?? '';
  }

  get spans(): number {
    return this.#spans.length + 1;
  }

  get isIdle(): boolean {
    if (this.#ending === undefined || this.#ending.result !== 'Succeeded') return false;
    const { added, reprocessed, deleted, failed, superseded } = this.#ending.counts;
    return added + reprocessed + deleted + failed + superseded === 0;
  }

  /** Its root run waited. */
  waited(run: RunView, wait: Wait): void {
    this.#put(waitSpan(this.traceId, this.context.spanId, run, wait));
  }

  /** An attempt is over: counts it, and says whether its spans are wanted (U1). */
  keeps(run: RunView, how: HowEnded): boolean {
    this.#runs++;
    if (this.#wants(run, how)) return true;
    this.#leftOut++;
    return false;
  }

  /** An attempt that is kept. */
  attempted(ended: EndedAttempt, wait: Wait | undefined): void {
    const { run } = ended;
    this.#kept++;
    if (run.parent !== undefined) this.#needed.add(run.parent.number);
    this.#revision = ended.trace?.spans.findLast(({ detail }) => detail !== undefined)?.detail ?? this.#revision;
    const { traceId, spanId } = this.context;
    if (wait !== undefined) this.#put(waitSpan(traceId, spanId, run, wait));
    for (const span of attemptSpans(traceId, spanId, ended)) this.#put(span);
  }

  ended(ending: UpdateEnding, links: readonly TraceLink[], nowMs: number): void {
    this.#ending = ending;
    this.#links = links;
    this.#endedAtMs = nowMs;
    if (this.context.isSampled) this.#sink.put({ ...this.#root(), endMs: nowMs, traceId: this.traceId, links });
  }

  tree(): TraceTree {
    const { name, start, kind, trigger } = this.#update;
    const ending = this.#ending;
    const endedAtMs = this.#endedAtMs;
    return {
      traceId: this.traceId,
      pipeline: this.pipeline,
      update: name,
      ...(start.source !== undefined && { source: start.source }),
      ...(start.key !== undefined && { key: start.key }),
      kind,
      trigger,
      ...(ending !== undefined && { result: ending.result }),
      startedAtMs: this.#startMs,
      ...(endedAtMs !== undefined && { endedAtMs }),
      isExported: this.context.isSampled,
      isTakenOver: this.isTakenOver,
      counts: this.#counts,
      runs: { total: this.#runs, kept: this.#kept, leftOut: this.#leftOut },
      links: this.#links,
      root: treeOf({ ...this.#root(), ...(endedAtMs !== undefined && { endMs: endedAtMs }) }, this.#spans),
    };
  }

  #wants(run: RunView, { trace, error }: HowEnded): boolean {
    const isRoot = run.number === this.#update.rootRun;
    if (isRoot || this.#needed.delete(run.number)) return true;
    if (error !== undefined && error.class !== 'cancelled') return ++this.#failures <= FAILURES_MAX;
    return trace !== undefined && this.#kept < RUNS_MAX;
  }

  #put(span: SpanRecord): void {
    this.#spans.push(span);
    if (this.context.isSampled) this.#sink.put({ ...span, traceId: this.traceId }); // U2
  }

  get #startMs(): number {
    return this.isTakenOver ? askedAtMsOf(this.traceId) : this.#update.requestedAtMs;
  }

  get #counts(): Counts {
    return this.#ending?.counts ?? this.#update.progress.counts;
  }

  #root(): Omit<SpanRecord, 'endMs'> {
    const outcome = this.#ending?.outcome;
    const failure = outcome?.kind === 'failed' ? outcome.error : undefined;
    return {
      spanId: this.context.spanId,
      kind: 'update',
      name: `update ${this.#update.kind}`,
      startMs: this.#startMs,
      attributes: this.#attributes(failure?.class),
      ...(failure !== undefined && { error: { class: failure.class, message: failure.message } }),
    };
  }

  #attributes(errorType: string | undefined): Attributes {
    const { progress } = this.#update;
    const counts = Object.entries(this.#counts).map(([name, count]) => [`fairlead.items.${name}`, count] as const);
    return present({
      ...updateAttributes(this.pipeline, this.#update),
      'fairlead.update.result': this.#ending?.result,
      'fairlead.update.taken_over': this.isTakenOver || undefined,
      'vcs.ref.head.revision': this.#revision,
      ...Object.fromEntries(counts),
      'fairlead.items.total': progress.total,
      'fairlead.runs.total': this.#runs,
      'fairlead.runs.kept': this.#kept,
      'fairlead.runs.left_out': this.#leftOut,
      'error.type': errorType,
    });
  }
}

/** What is known of an update when it begins. */
export function updateAttributes(pipeline: string, { name, start, kind, trigger }: UpdateView): Attributes {
  const [namespace, pipelineName] = pipeline.split('/') as [string, string];
  return present({
    'k8s.namespace.name': namespace,
    'fairlead.pipeline.name': pipelineName,
    'fairlead.source.name': start.source,
    'fairlead.item.key': start.key,
    'fairlead.update.name': name,
    'fairlead.update.kind': kind,
    'fairlead.trigger': trigger,
  });
}
