// Reads a decision log: which updates came when, and what each of their runs took.
//   D1. A run's own time is what it held a slot for, less the time in which children of it did: so that a parent that lends is not counted twice.
//   D2. Runs that had not ended when the log ends are left out, and counted.
import type { Decision } from '../../operator/telemetry/index.ts';
import { WorkloadError } from './workload.ts';

/** One run of the log. */
export interface RecordedRun {
  /** Since its update's arrival. */
  readonly askedAfterMs: number;
  /** Time of its own on a slot. */
  readonly tookMs: number;
}

export interface RecordedUpdate {
  readonly name: string;
  /** Live source; "" is the pool. */
  readonly in: string;
  readonly atMs: number;
  readonly runs: readonly RecordedRun[];
  /** From its arrival to the end of its last run, as it was. */
  readonly tookMs: number;
}

export interface Recording {
  readonly pipeline: string;
  readonly slots: number;
  readonly updates: readonly RecordedUpdate[];
  readonly leftOutRuns: number;
  /** The log reached its bound before the operator ended. */
  readonly isCut: boolean;
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Run {
  readonly askedMs: number;
  readonly parent: number | undefined;
  grantedMs: number | undefined;
  /** Attempts on a slot. */
  readonly spans: Span[];
}

interface Update {
  readonly name: string;
  readonly in: string;
  readonly atMs: number;
  readonly runs: Map<number, Run>;
}

/** Reads the lines of a log. Throws WorkloadError, naming the line. */
export function readRecording(text: string, where: string): Recording {
  const reader = new Reader();
  let at = 0;
  for (const line of text.split('\n')) {
    at++;
    if (line.trim() !== '') reader.read(decisionOf(line, `${where}: line ${at}`));
  }
  const recording = reader.done();
  if (recording === undefined) throw new WorkloadError(`${where}: the first line of a decision log is missing`);
  if (recording.updates.length === 0) throw new WorkloadError(`${where}: no update of this log has a run that ended`);
  return recording;
}

function decisionOf(line: string, where: string): Decision {
  try {
    return JSON.parse(line) as Decision;
  } catch {
    throw new WorkloadError(`${where}: this is not JSON; is it a decision log?`);
  }
}

class Reader {
  readonly #updates = new Map<string, Update>();
  readonly #runs = new Map<number, Run>();
  #head: { readonly pipeline: string; readonly slots: number } | undefined;
  #isCut = false;

  read(line: Decision): void {
    switch (line.e) {
      case 'log':
        this.#head = line;
        return;
      case 'opened':
        this.#open(line.update, line.source, line.t);
        return;
      case 'asked':
        this.#ask(line.run, line.update, line.parent, line.t);
        return;
      case 'granted':
        this.#grant(line.run, line.t);
        return;
      case 'left':
        this.#leave(line.run, line.t);
        return;
      case 'full':
        this.#isCut = true;
    }
  }

  done(): Recording | undefined {
    if (this.#head === undefined) return undefined;
    const { pipeline, slots } = this.#head;
    const children = this.#childSpans();
    let leftOutRuns = 0;
    const updates: RecordedUpdate[] = [];
    for (const update of this.#updates.values()) {
      const ended = [...update.runs].filter(([, { spans }]) => spans.length > 0);
      leftOutRuns += update.runs.size - ended.length;
      if (ended.length > 0) updates.push(recorded(update, ended, children));
    }
    return { pipeline, slots, updates, leftOutRuns, isCut: this.#isCut };
  }

  #open(name: string, source: string, atMs: number): void {
    if (!this.#updates.has(name)) this.#updates.set(name, { name, in: source, atMs, runs: new Map() });
  }

  #ask(number: number, update: string, parent: number | undefined, askedMs: number): void {
    const known = this.#runs.get(number);
    if (known !== undefined) return; // it asks again after its back-off
    const run: Run = { askedMs, parent, grantedMs: undefined, spans: [] };
    this.#runs.set(number, run);
    this.#open(update, '', askedMs);
    this.#updates.get(update)!.runs.set(number, run);
  }

  #grant(number: number, atMs: number): void {
    const run = this.#runs.get(number);
    if (run !== undefined) run.grantedMs = atMs;
  }

  #leave(number: number, atMs: number): void {
    const run = this.#runs.get(number);
    if (run?.grantedMs === undefined) return;
    run.spans.push({ fromMs: run.grantedMs, toMs: atMs });
    run.grantedMs = undefined;
  }

  #childSpans(): Map<number, Span[]> {
    const children = new Map<number, Span[]>();
    for (const { parent, spans } of this.#runs.values())
      if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), ...spans]);
    return children;
  }
}

function recorded(
  { name, in: source, atMs, runs: all }: Update,
  ended: readonly (readonly [number, Run])[],
  children: ReadonlyMap<number, readonly Span[]>,
): RecordedUpdate {
  const runs = ended.map(([number, { askedMs, spans }]) => ({
    askedAfterMs: askedMs - atMs,
    tookMs: Math.max(0, lengthMs(spans) - overlapMs(spans, children.get(number) ?? [])), // D1
  }));
  const lastMs = Math.max(...[...all.values()].flatMap(({ spans }) => spans.map(({ toMs }) => toMs)));
  return { name, in: source, atMs, runs, tookMs: lastMs - atMs };
}

const lengthMs = (spans: readonly Span[]): number => spans.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);

/** How much of `spans` lies under the union of `others`. */
function overlapMs(spans: readonly Span[], others: readonly Span[]): number {
  const sorted = [...others].sort((a, b) => a.fromMs - b.fromMs);
  let sum = 0;
  for (const { fromMs, toMs } of spans) {
    let coveredTo = fromMs;
    for (const other of sorted) {
      const from = Math.max(other.fromMs, coveredTo);
      const to = Math.min(other.toMs, toMs);
      if (to > from) sum += to - from;
      coveredTo = Math.max(coveredTo, Math.min(other.toMs, toMs));
    }
  }
  return sum;
}
