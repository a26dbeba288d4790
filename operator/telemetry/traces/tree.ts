// A trace as plain data: what `fairlead trace`, `fairlead updates show` and the dashboard print, and what a test compares.
import type { Counts } from '../../../runner/protocol/index.ts';

export type AttributeValue = string | number | boolean | readonly string[];
export type Attributes = Readonly<Record<string, AttributeValue>>;

/**
 * - `update`: the root. - `wait`: of a run for its slot. - `run`: one attempt on a runner.
 * - `trigger`: stands for what made an update, in a trace of its own that the update links to.
 * - The others are parts of a run, see `RunSpanKind`.
 */
export type SpanKind = 'update' | 'trigger' | 'wait' | 'run' | 'list' | 'read' | 'step' | 'card' | 'call' | 'commit';

export interface SpanError {
  /** As in `RunError`, or `cancelled`. */
  readonly class: string;
  readonly message?: string;
}

/** One span, as it is kept and exported. Times are milliseconds of the epoch, with fractions. */
export interface SpanRecord {
  readonly spanId: string;
  /** Absent: the root. */
  readonly parentId?: string;
  readonly kind: SpanKind;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly error?: SpanError;
}

/** What made an update, or joined it. */
export interface TraceLink {
  readonly trigger: string;
  readonly atMs: number;
  /** Whose span it was: a webhook's sender, or a span that stands for the trigger. */
  readonly traceId: string;
  readonly spanId: string;
  /** Such as the commit that was seen. */
  readonly revision?: string;
}

export interface TraceSpan extends Omit<SpanRecord, 'parentId' | 'endMs'> {
  /** Absent: it goes on. */
  readonly durationMs?: number;
  /** Of a run: its wait for its slot, where it waited. */
  readonly wait?: TraceSpan;
  /** By start; waits of runs that have a span stand with their runs. */
  readonly children: readonly TraceSpan[];
}

export interface TraceTree {
  readonly traceId: string;
  /** "namespace/name". */
  readonly pipeline: string;
  /** Name of the update. */
  readonly update: string;
  readonly source?: string;
  readonly key?: string;
  readonly kind: 'pipeline' | 'cycle' | 'key' | 'drop';
  readonly trigger: string;
  /** Absent: it goes on. */
  readonly result?: 'Succeeded' | 'CompletedWithErrors' | 'Failed' | 'Cancelled';
  readonly startedAtMs: number;
  readonly endedAtMs?: number;
  /** Whether its spans are sent to a tracing back-end too. */
  readonly isExported: boolean;
  /** Whether an earlier operator began it: what that one heard is not in this tree, though it may be in the back-end's. */
  readonly isTakenOver: boolean;
  readonly counts: Counts;
  /** Attempts of runs: all that ended, those with spans, and the rest. */
  readonly runs: { readonly total: number; readonly kept: number; readonly leftOut: number };
  readonly links: readonly TraceLink[];
  readonly root: TraceSpan;
}

type Open = Omit<SpanRecord, 'endMs'> & { readonly endMs?: number };

/** Spans below their parents; those whose parent was left out stand below the root. */
export function treeOf(root: Open, spans: readonly SpanRecord[]): TraceSpan {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const waits = waitsOfRuns(spans);
  const told = new Set(waits.values());
  const byParent = new Map<string, SpanRecord[]>();
  for (const span of spans) {
    if (told.has(span)) continue;
    const parent = span.parentId !== undefined && known.has(span.parentId) ? span.parentId : root.spanId;
    byParent.set(parent, [...(byParent.get(parent) ?? []), span]);
  }
  const grown = ({ parentId: _, endMs, ...span }: Open): TraceSpan => {
    const wait = waits.get(span.spanId);
    return {
      ...span,
      ...(endMs === undefined ? {} : { durationMs: endMs - span.startMs }),
      ...(wait === undefined ? {} : { wait: grown(wait) }),
      children: (byParent.get(span.spanId) ?? []).sort(byStart).map(grown),
    };
  };
  return grown(root);
}

/** The wait of each attempt of a run, by the id of the attempt's span. */
function waitsOfRuns(spans: readonly SpanRecord[]): ReadonlyMap<string, SpanRecord> {
  const attemptOf = ({ attributes }: SpanRecord): string =>
    `${attributes['fairlead.run.number']}/${attributes['fairlead.run.attempt']}`;
  const waits = new Map(spans.filter(({ kind }) => kind === 'wait').map((wait) => [attemptOf(wait), wait]));
  const found = new Map<string, SpanRecord>();
  for (const span of spans) {
    const wait = span.kind === 'run' ? waits.get(attemptOf(span)) : undefined;
    if (wait !== undefined) found.set(span.spanId, wait);
  }
  return found;
}

const byStart = (a: SpanRecord, b: SpanRecord): number => a.startMs - b.startMs;
