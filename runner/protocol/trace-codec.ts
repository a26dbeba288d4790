// Traces of runs and counters of runners as messages. Both are rare: a runner sends the traces of chosen runs only.
import { create } from '@bufbuild/protobuf';
import {
  ByteColumn,
  ByteReader,
  DoubleColumn,
  DoubleReader,
  TextColumn,
  TextReader,
  WordColumn,
  WordReader,
} from './columns.ts';
import { RunTraceSchema, type Stats, StatsSchema, type RunTrace as WireTrace } from './link_pb.ts';
import { COMMIT_BOUNDS, type RunnerStats, type RunSpan, type RunSpanKind, type RunTrace } from './messages.ts';

const KINDS: readonly RunSpanKind[] = ['list', 'read', 'step', 'card', 'call', 'commit'];

type Draft<T> = { -readonly [K in keyof T]: T[K] };

/** `index`: place of the run's end among the ends of the message. */
export function traceMessage(index: number, trace: RunTrace): WireTrace {
  const [kinds, ins, counted] = [new ByteColumn(), new ByteColumn(), new ByteColumn()];
  const [starts, durations] = [new DoubleColumn(), new DoubleColumn()];
  const counts = new WordColumn();
  const texts = new TextColumn();
  for (const span of trace.spans) {
    kinds.push(KINDS.indexOf(span.kind) + 1);
    starts.push(span.startMs);
    durations.push(span.durationMs);
    ins.push(span.in === undefined ? 0 : span.in + 1);
    counted.push(span.count === undefined ? 0 : 1);
    counts.push(span.count ?? 0);
    for (const text of [span.name, span.failure ?? '', span.detail ?? '']) texts.push(text);
  }
  return create(RunTraceSchema, {
    index,
    startedAtMs: trace.startedAtMs,
    durationMs: trace.durationMs,
    kindsU8: kinds.take(),
    startsF64: starts.take(),
    durationsF64: durations.take(),
    insU8: ins.take(),
    countedU8: counted.take(),
    countsU32: counts.take(),
    texts: texts.take(),
  });
}

/** Throws a RangeError where the message is malformed. */
export function traceOf(message: WireTrace): RunTrace {
  const { startedAtMs, durationMs, kindsU8 } = message;
  const readers = {
    kinds: new ByteReader(kindsU8),
    starts: new DoubleReader(message.startsF64),
    durations: new DoubleReader(message.durationsF64),
    ins: new ByteReader(message.insU8),
    counted: new ByteReader(message.countedU8),
    counts: new WordReader(message.countsU32),
    texts: new TextReader(message.texts),
  };
  return { startedAtMs, durationMs, spans: Array.from(kindsU8, () => nextSpan(readers)) };
}

interface SpanReaders {
  readonly kinds: ByteReader;
  readonly starts: DoubleReader;
  readonly durations: DoubleReader;
  readonly ins: ByteReader;
  readonly counted: ByteReader;
  readonly counts: WordReader;
  readonly texts: TextReader;
}

/** A kind that this version does not know counts as a step. */
function nextSpan({ kinds, starts, durations, ins, counted, counts, texts }: SpanReaders): RunSpan {
  const span: Draft<RunSpan> = {
    kind: KINDS[kinds.next() - 1] ?? 'step',
    name: texts.next(),
    startMs: starts.next(),
    durationMs: durations.next(),
  };
  const [enclosing, count] = [ins.next(), counts.next()];
  const [failure, detail] = [texts.next(), texts.next()];
  if (enclosing > 0) span.in = enclosing - 1;
  if (counted.next() > 0) span.count = count;
  if (failure !== '') span.failure = failure as NonNullable<RunSpan['failure']>;
  if (detail !== '') span.detail = detail;
  return span;
}

/** Traces by the place of their run's end. */
export function tracesByIndex(messages: readonly WireTrace[]): ReadonlyMap<number, RunTrace> {
  return messages.length === 0 ? NONE : new Map(messages.map((message) => [message.index, traceOf(message)]));
}

const NONE: ReadonlyMap<number, RunTrace> = new Map();

export function statsMessage({ commits, committed, retries, calls }: RunnerStats): Stats {
  const column = new DoubleColumn();
  for (const count of commits) column.push(count);
  return create(StatsSchema, { commitsF64: column.take(), committed, retries: { ...retries }, calls: { ...calls } });
}

export function statsOf({ commitsF64, committed, retries, calls }: Stats): RunnerStats {
  const reader = new DoubleReader(commitsF64);
  const commits = Array.from({ length: COMMIT_BOUNDS.length + 1 }, () => reader.next());
  return { commits, committed, retries: { ...retries }, calls: { ...calls } };
}
