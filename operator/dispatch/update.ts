// An update: a run with no parent run plus every run below it; the unit of fairness.
import type {
  ComponentPath,
  Counts,
  Json,
  RunNumber,
  RunOutcome,
  UpdateProgress,
  UpdateResult,
} from '../../runner/protocol/index.ts';

/**
 * - `pipeline`: of the whole Pipeline.
 * - `cycle`: one cycle of a LiveSource.
 * - `key`: one per-key update of a LiveSource.
 * - `drop`: removes all rows and records of a LiveSource, or of the whole Pipeline (A10).
 */
export type UpdateKind = 'pipeline' | 'cycle' | 'key' | 'drop';

/** What made an update, or joined one that had not begun. */
export interface Cause {
  readonly trigger: string;
  readonly atMs: number;
  /** What changed, such as a commit. */
  readonly revision?: string;
  /** W3C trace context of whoever asked (a webhook). */
  readonly traceparent?: string;
}

/** What the root run of an update is told. */
export interface UpdateStart {
  readonly kind: UpdateKind;
  /** LiveSource; absent for an update of the Pipeline itself. */
  readonly source?: string;
  /** Key of a `key` update. */
  readonly key?: string;
  /** What made it, such as `interval` or `edit`. */
  readonly trigger: string;
  readonly input?: Json;
  readonly reprocess?: boolean;
  readonly allowDeletes?: boolean;
  readonly releaseQuarantined?: boolean;
  readonly runnerClass?: string;
  /** More than the trigger's name says; those that joined before it began come later (`UpdateView.causes`). */
  readonly causes?: readonly Cause[];
  /** Of an update that is taken over. */
  readonly traceparent?: string;
  readonly observer?: UpdateObserver;
}

/** Told about one update, never from inside a decision of the dispatcher. */
export interface UpdateObserver {
  /** Its root run begins to execute; once, however many attempts it takes. */
  started?(update: UpdateView): void;
  progress?(update: UpdateView): void;
  ended?(update: UpdateView, ending: UpdateEnding): void;
}

export interface UpdateEnding {
  readonly result: UpdateResult;
  readonly counts: Counts;
  readonly outcome: RunOutcome;
}

/** An update as others see it. */
export interface UpdateView {
  /** Unique within the Pipeline, also across restarts. */
  readonly name: string;
  /** What it was opened with. */
  readonly start: UpdateStart;
  readonly kind: UpdateKind;
  readonly trigger: string;
  readonly path: ComponentPath;
  /** Undefined after a change of operators, until its root run was reported. */
  readonly rootRun: RunNumber | undefined;
  readonly requestedAtMs: number;
  /** W3C trace context of its root span; absent: it is not traced. */
  readonly traceparent?: string | undefined;
  /** What made it, and what was wanted meanwhile and needs no update of its own: bounded, the first ones. */
  readonly causes: readonly Cause[];
  /** Absent: its root run waits. */
  readonly startedAtMs?: number;
  readonly progress: UpdateProgress;
  readonly ending?: UpdateEnding;
}
