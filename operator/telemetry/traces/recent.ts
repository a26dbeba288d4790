// The traces of recent updates, kept in this process so that they can be looked at without any tracing back-end.
//   R1. Bounded by traces and by spans in all; the oldest go first.
//   R2. Updates that found nothing to do push nothing else out: the last one of each source is kept, and not of every source.
import type { TraceTree } from './tree.ts';

const TRACES_MAX = 500;
const IDLE_MAX = 100;
const SPANS_MAX = 50_000;

/** An update's trace, open or ended. */
export interface KnownTrace {
  /** "namespace/name". */
  readonly pipeline: string;
  readonly update: string;
  readonly traceId: string;
  readonly source: string;
  readonly spans: number;
  /** It found nothing to do. */
  readonly isIdle: boolean;
  tree(): TraceTree;
}

export class RecentTraces {
  readonly #open = new Set<KnownTrace>();
  readonly #ended = new Set<KnownTrace>();
  /** By Pipeline and source. */
  readonly #idle = new Map<string, KnownTrace>();
  #spans = 0;

  /** The trace of an update, by the update's name or by its trace id; undefined: it is not known any more. */
  get(pipeline: string, name: string): TraceTree | undefined {
    for (const trace of this.#all()) {
      if (trace.pipeline === pipeline && (trace.update === name || trace.traceId === name)) return trace.tree();
    }
    return undefined;
  }

  /** Updates of a Pipeline whose traces are known: open ones first, newest first. */
  list(pipeline: string): readonly { readonly update: string; readonly traceId: string }[] {
    const known = [...this.#all()].filter((trace) => trace.pipeline === pipeline);
    return known.map(({ update, traceId }) => ({ update, traceId }));
  }

  opened(trace: KnownTrace): void {
    this.#open.add(trace);
  }

  ended(trace: KnownTrace): void {
    this.#open.delete(trace);
    if (trace.isIdle) return this.#keepIdle(trace);
    this.#ended.add(trace);
    this.#spans += trace.spans;
    for (const oldest of this.#ended) {
      if (this.#ended.size <= TRACES_MAX && this.#spans <= SPANS_MAX) break;
      this.#drop(oldest);
    }
  }

  /** A Pipeline is gone. */
  forget(pipeline: string): void {
    for (const trace of this.#all()) {
      if (trace.pipeline !== pipeline) continue;
      this.#open.delete(trace);
      this.#drop(trace);
      this.#idle.delete(idleKey(trace));
    }
  }

  #keepIdle(trace: KnownTrace): void {
    this.#idle.delete(idleKey(trace));
    this.#idle.set(idleKey(trace), trace);
    const [oldest] = this.#idle.keys();
    if (this.#idle.size > IDLE_MAX && oldest !== undefined) this.#idle.delete(oldest);
  }

  #drop(trace: KnownTrace): void {
    if (this.#ended.delete(trace)) this.#spans -= trace.spans;
  }

  #all(): KnownTrace[] {
    const newestFirst = (traces: Iterable<KnownTrace>) => [...traces].reverse();
    return [...newestFirst(this.#open), ...newestFirst(this.#ended), ...newestFirst(this.#idle.values())];
  }
}

const idleKey = ({ pipeline, source }: KnownTrace): string => `${pipeline}\0${source}`;
