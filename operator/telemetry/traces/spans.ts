// From what dispatch and runners know of a run to its spans. Names are few; what tells one from another stands in attributes.
import {
  FIRST_SPAN_PLACE,
  PROGRAM_CALL,
  RUN_PLACE,
  type RunError,
  type RunOutcome,
  type RunSpan,
  type RunTrace,
  spanIdOf,
  WAIT_PLACE,
} from '../../../runner/protocol/index.ts';
import type { RunView } from '../../dispatch/index.ts';
import type { AttributeValue, SpanError, SpanRecord } from './tree.ts';

/** How an attempt of a run ended. */
export interface HowEnded {
  readonly error: SpanError | undefined;
  /** Where its time went, if its runner told. */
  readonly trace: RunTrace | undefined;
  /** When it is tried again. */
  readonly againAfterMs?: number;
}

/** An attempt of a run that is over. */
export interface EndedAttempt extends HowEnded {
  readonly run: RunView;
  readonly endMs: number;
}

/** How an attempt ended, if not well. */
export function errorOf(outcome: RunOutcome): SpanError | undefined {
  if (outcome.kind === 'failed' || outcome.kind === 'parked') return spanError(outcome.error);
  return outcome.kind === 'cancelled' ? { class: 'cancelled', message: outcome.why } : undefined;
}

const spanError = ({ class: name, message, step }: RunError): SpanError => ({
  class: name,
  message: step === undefined ? message : `${step}: ${message}`,
});

/** The attempt's own span and what its runner told of it. `rootId`: of the update. */
export function attemptSpans(traceId: string, rootId: string, ended: EndedAttempt): SpanRecord[] {
  const span = runSpan(traceId, rootId, ended);
  const parts = ended.trace?.spans ?? [];
  const token = { run: ended.run.number, attempt: ended.run.attempt };
  return [
    span,
    ...parts.map((part, place) => {
      const spanId = spanIdOf(traceId, token, FIRST_SPAN_PLACE + place);
      const parentId = part.in === undefined ? span.spanId : spanIdOf(traceId, token, FIRST_SPAN_PLACE + part.in);
      return partSpan(part, { spanId, parentId, runStartMs: span.startMs });
    }),
  ];
}

/** Id of the span of a run's present attempt. */
export function runSpanId(traceId: string, { number, attempt }: RunView): string {
  return spanIdOf(traceId, { run: number, attempt }, RUN_PLACE);
}

export function parentSpanId(traceId: string, rootId: string, { parent }: RunView): string {
  return parent === undefined || parent.kind === 'watch' ? rootId : runSpanId(traceId, parent);
}

function runSpan(traceId: string, rootId: string, ended: EndedAttempt): SpanRecord {
  const { run, error, trace, endMs, againAfterMs } = ended;
  // Clocks of two machines differ: a run neither begins before its grant nor ends after its end was heard.
  const startMs = Math.min(Math.max(trace?.startedAtMs ?? 0, run.grantedAtMs), endMs);
  return {
    spanId: runSpanId(traceId, run),
    parentId: parentSpanId(traceId, rootId, run),
    kind: 'run',
    name: `run ${run.kind}`,
    startMs,
    endMs: trace === undefined ? endMs : Math.min(endMs, startMs + trace.durationMs),
    attributes: present({
      'fairlead.run.number': run.number,
      'fairlead.run.kind': run.kind,
      'fairlead.run.attempt': run.attempt,
      'fairlead.run.losses': run.losses === 0 ? undefined : run.losses,
      'fairlead.run.path': run.path,
      'fairlead.item.key': run.key,
      'fairlead.runner.name': run.grantedTo,
      'fairlead.runner.class': run.runnerClass,
      'fairlead.retry.after_ms': againAfterMs,
      'error.type': error?.class,
    }),
    ...(error === undefined ? {} : { error }),
  };
}

const COUNT_NAMES: Readonly<Record<RunSpan['kind'], string>> = {
  list: 'fairlead.items',
  read: 'fairlead.items',
  step: 'fairlead.elements',
  card: 'fairlead.card.milli',
  call: 'fairlead.batch.size',
  commit: 'fairlead.components',
};

function partSpan(
  part: RunSpan,
  place: { readonly spanId: string; readonly parentId: string; readonly runStartMs: number },
): SpanRecord {
  const { kind, name, failure, count, detail } = part;
  const startMs = place.runStartMs + part.startMs;
  return {
    spanId: place.spanId,
    parentId: place.parentId,
    kind,
    name: kind === 'step' || kind === 'card' ? `${kind} ${name}` : kind,
    startMs,
    endMs: startMs + part.durationMs,
    attributes: present({
      'fairlead.step': kind === 'step' ? name : undefined,
      ...(kind === 'call' && calledOf(name)),
      [COUNT_NAMES[kind]]: count,
      'vcs.ref.head.revision': kind === 'list' ? detail : undefined,
      'error.type': failure,
    }),
    ...(failure === undefined ? {} : { error: { class: failure } }),
  };
}

/** Who was called: a server, or a program of a step `exec`. */
const calledOf = (name: string): Readonly<Record<string, string>> =>
  name.startsWith(PROGRAM_CALL)
    ? { 'process.executable.name': name.slice(PROGRAM_CALL.length) }
    : { 'server.address': name };

/** Why and for how long a run waited for its slot. */
export interface Wait {
  readonly attributes: Readonly<Record<string, AttributeValue | undefined>>;
}

export function waitSpan(traceId: string, rootId: string, run: RunView, { attributes }: Wait): SpanRecord {
  return {
    spanId: spanIdOf(traceId, { run: run.number, attempt: run.attempt }, WAIT_PLACE),
    parentId: parentSpanId(traceId, rootId, run),
    kind: 'wait',
    name: 'wait',
    startMs: run.requestedAtMs,
    endMs: run.grantedAtMs,
    attributes: present({
      'fairlead.run.number': run.number,
      'fairlead.run.attempt': run.attempt,
      ...attributes,
    }),
  };
}

/** Without what is absent. */
export function present(
  attributes: Readonly<Record<string, AttributeValue | undefined>>,
): Readonly<Record<string, AttributeValue>> {
  const made: Record<string, AttributeValue> = {};
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) made[name] = value;
  }
  return made;
}
