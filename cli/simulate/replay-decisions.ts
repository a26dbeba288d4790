// Replays a recording under a rule, a number of slots or weights of one's choice, on a virtual clock, and compares with how it was.
//   P1. Runs ask when they asked, so what a late start would have kept back asks here all the same; roots that lend are runs like any other.
//   P2. Each takes its own time (D1 of decisions.ts), so the slots are used as they were; what moves is who gets them when.
import { admissionFor } from './admission.ts';
import type { RecordedRun, Recording } from './decisions.ts';
import type { SimulatedRun } from './replay.ts';
import { table } from './table.ts';
import { Timeline } from './timeline.ts';
import type { RuleName, Workload } from './workload.ts';

export interface ReplayedUpdate {
  readonly name: string;
  readonly in: string;
  readonly runs: number;
  readonly recordedMs: number;
  readonly replayedMs: number;
}

export interface ReplayedRule {
  readonly rule: RuleName;
  readonly slots: number;
  readonly updates: readonly ReplayedUpdate[];
}

export interface ReplayOptions {
  readonly slots: number;
  readonly weights: Readonly<Record<string, number>>;
}

type Event =
  | { readonly kind: 'asks'; readonly update: number; readonly run: RecordedRun }
  | { readonly kind: 'ends'; readonly run: SimulatedRun };

export function replayDecisions(recording: Recording, rule: RuleName, { slots, weights }: ReplayOptions): ReplayedRule {
  const admission = admissionFor(workloadOf(recording, slots, weights), rule);
  const timeline = new Timeline<Event>();
  const lengths = new Map<SimulatedRun, number>();
  const finishedAtMs = recording.updates.map(({ atMs }) => atMs);
  const start = (runs: readonly SimulatedRun[], nowMs: number) => {
    for (const run of runs) timeline.schedule(nowMs + lengths.get(run)!, { kind: 'ends', run });
  };
  for (const [update, { atMs, runs }] of recording.updates.entries())
    for (const run of runs) timeline.schedule(atMs + run.askedAfterMs, { kind: 'asks', update, run });
  for (let next = timeline.next(); next !== undefined; next = timeline.next()) {
    const { atMs, event } = next;
    if (event.kind === 'asks') {
      const run: SimulatedRun = { update: event.update, isRoot: false };
      lengths.set(run, event.run.tookMs);
      start(admission.request(run), atMs);
    } else {
      lengths.delete(event.run);
      finishedAtMs[event.run.update] = atMs;
      start(admission.end(event.run), atMs);
    }
  }
  const updates = recording.updates.map(({ name, in: path, atMs, runs, tookMs }, at) => ({
    name,
    in: path,
    runs: runs.length,
    recordedMs: tookMs,
    replayedMs: finishedAtMs[at]! - atMs,
  }));
  return { rule, slots, updates };
}

function workloadOf({ updates }: Recording, slots: number, weights: Readonly<Record<string, number>>): Workload {
  return {
    slots,
    lending: false,
    weights: { ...weights },
    // Rules that need an order take that of arrival.
    priority: updates.map(({ name }) => name),
    shares: Object.fromEntries(updates.map(({ name }) => [name, Math.max(1, Math.floor(slots / updates.length))])),
    updates: updates.map(({ name, in: path, atMs, runs }) => ({
      name,
      in: path,
      at: atMs,
      tasks: runs.length,
      each: 1,
    })),
  };
}

export function printReplayed(recording: Recording, replayed: readonly ReplayedRule[]): string {
  const notes = [
    `recorded: ${recording.pipeline}, ${recording.slots} slots, ${recording.updates.length} updates`,
    ...(recording.leftOutRuns > 0 ? [`${recording.leftOutRuns} runs had not ended and are left out`] : []),
    ...(recording.isCut ? ['the log was full before the operator ended'] : []),
  ];
  const headers = [
    'update',
    'source',
    'runs',
    'as it was',
    ...replayed.map(({ rule, slots }) => `${rule}\n${slots} slots`),
  ];
  const rows = recording.updates.map(({ name, in: path, runs, tookMs }, at) => [
    name,
    path,
    String(runs.length),
    `${tookMs} ms`,
    ...replayed.map(({ updates }) => `${updates[at]!.replayedMs} ms`),
  ]);
  return `${notes.join('\n')}\n\n${table(headers, rows)}`;
}
