// Where spans go beyond this process.
import type { Attributes, SpanRecord, TraceLink } from './tree.ts';

export interface ExportedSpan extends SpanRecord {
  readonly traceId: string;
  readonly links?: readonly TraceLink[];
}

/** Takes spans one by one, as they end; never throws and never waits. */
export interface SpanSink {
  /** Whether the spans of a trace are wanted: asked once, when the trace begins. */
  isSampled(traceId: string, attributes: Attributes): boolean;
  put(span: ExportedSpan): void;
}

export const NO_SINK: SpanSink = { isSampled: () => false, put: () => {} };
