// What `fairlead dev` says while it works and when an update ends: to a terminal, as plain lines, or as JSON lines.

import type { RunProgress } from '../../runner/execute/index.ts';
import type { Counts, UpdateProgress, UpdateResult } from '../../runner/protocol/index.ts';
import { printableName } from '../printable.ts';

/** One source as it stands now. */
export interface SourceState {
  readonly source: string;
  readonly progress: UpdateProgress;
  /** Slots that its updates hold, and runs that wait for one. */
  readonly held: number;
  readonly waiting: number;
  /** Runs whose code says how far it is, at most a few, oldest first. */
  readonly runs: readonly RunProgress[];
}

/** `report.pdf: 34 of 120 pages`, of the run that is at work the longest. */
export function detailText({ runs: [run] }: SourceState): string[] {
  if (run === undefined) return [];
  const { key, done, total, what } = run;
  const amount = [done.toLocaleString('en'), ...(total === undefined ? [] : ['of', total.toLocaleString('en')])];
  return [`${printableName(key)}: ${[...amount, ...(what === undefined ? [] : [what])].join(' ')}`];
}

/** An update that ended. */
export interface EndedUpdate {
  readonly name: string;
  readonly pipeline: string;
  readonly kind: 'pipeline' | 'cycle' | 'key' | 'drop';
  readonly source?: string;
  readonly key?: string;
  readonly trigger: string;
  readonly result: UpdateResult;
  readonly counts: Counts;
  readonly durationMs: number;
  /** Why it failed, or what it waits for. */
  readonly message?: string;
  /** What its listing was of, such as a commit. */
  readonly revision?: string;
}

/** A failed item, as it is reported. */
export interface FailedItem {
  readonly source: string;
  readonly key: string;
  readonly message: string;
}

export interface Reporter {
  /** Called a few times a second with every source that works. */
  progress(states: readonly SourceState[], nowMs: number): void;
  ended(update: EndedUpdate): void;
  failed(item: FailedItem): void;
  /** Something that people should know and programs need not. */
  note(message: string): void;
  /** Something that programs should know; people read of it elsewhere. */
  event(event: { readonly event: string; readonly [field: string]: unknown }): void;
  /** Takes progress off the screen. */
  close(): void;
}

/** Says nothing: for commands whose own answer says it all. */
export const SILENT: Reporter = { progress() {}, ended() {}, failed() {}, note() {}, event() {}, close() {} };

/** Where a reporter writes: data to one, everything else to the other. */
export interface Streams {
  out(text: string): void;
  err(text: string): void;
}

const COUNT_WORDS = ['unchanged', 'added', 'reprocessed', 'deleted', 'failed'] as const;

/** `12 unchanged, 3 added, …`; superseded items are named only where there are any. */
export function countsText(counts: Counts): string {
  const parts = COUNT_WORDS.map((word) => `${counts[word].toLocaleString('en')} ${word}`);
  if (counts.superseded > 0) parts.push(`${counts.superseded.toLocaleString('en')} superseded`);
  return parts.join(', ');
}

/** Time as people say it: 320 ms, 4.2 s, 3 min 5 s, 2 h 10 min. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `repo: Succeeded in 4.2 s: …` */
export function endedText(update: EndedUpdate): string {
  const what = update.source ?? 'pipeline';
  const of = update.kind === 'key' ? `${what} ${printableName(update.key ?? '')}` : what;
  const message = update.message === undefined ? '' : `\n  ${update.message}`;
  return `${of}: ${update.result} in ${durationText(update.durationMs)}: ${countsText(update.counts)}${message}`;
}
