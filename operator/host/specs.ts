// What a Pipeline and its LiveSources ask of a host, and what their specs mean to the dispatcher and the triggers.
import {
  durationMs,
  type LimitsSpec,
  type LiveSourceSpec,
  milliCardsOf,
  type PipelineSpec,
  quantityBytes,
  runnerClassOf,
} from '../../crds/schema/index.ts';
import type { Limits } from '../admission/index.ts';
import type { ItemNeeds } from '../dispatch/index.ts';
import type { Schedule, SourceTriggerSettings } from '../triggers/index.ts';

/** The objects that a host serves, as they are now. Objects that did not change are the same objects. */
export interface HostSpecs {
  /** Grows with each change of any of them. */
  readonly generation: number;
  readonly pipeline: PipelineSpec;
  /** Slots in force. */
  readonly slotsMax: number;
  /** Rows and bytes in force, over all sources; absent: no limit. */
  readonly limits?: Limits;
  /** By name; only those that are accepted and are not being deleted. */
  readonly sources: ReadonlyMap<string, LiveSourceSpec>;
}

export function limitsOf(limits: LimitsSpec | undefined): Limits | undefined {
  if (limits === undefined) return undefined;
  const { maxInflightRows: rows, maxInflightBytes: bytes } = limits;
  return { ...(rows !== undefined && { rows }), ...(bytes !== undefined && { bytes: quantityBytes(bytes) }) };
}

/** When a source lists by itself: at its own times, or as the net under a watcher. */
export function scheduleOf(spec: LiveSourceSpec): Schedule | undefined {
  if (spec.cron !== undefined)
    return { kind: 'cron', expression: spec.cron, ...(spec.timeZone !== undefined && { zone: spec.timeZone }) };
  const every = spec.interval ?? (spec.mode === 'Watch' ? spec.resync : undefined);
  return every === undefined ? undefined : { kind: 'interval', everyMs: durationMs(every) };
}

export function triggerSettings(spec: LiveSourceSpec, isPipelineSuspended: boolean): SourceTriggerSettings {
  const schedule = scheduleOf(spec);
  const { maxPercent, minItems } = spec.deleteGuard;
  return {
    mode: spec.mode,
    suspend: spec.suspend || isPipelineSuspended,
    ...(schedule !== undefined && { schedule }),
    ...(maxPercent < 100 && { watchedDeletesMax: minItems }),
  };
}

/** Class of runner that runs without one are counted for: the one with the fewest cards, the first of those. */
export function commonClass({ runners }: PipelineSpec): string {
  return runners.reduce((best, runner) => (runner.gpus < best.gpus ? runner : best)).name;
}

/** Whether an edit can change rows: what is done with an item, or where rows go. Fingerprints then say which items. */
export function changesResults(before: PipelineSpec, after: PipelineSpec): boolean {
  const relevant = ({ component, targets }: PipelineSpec) => JSON.stringify([component, targets]);
  return before !== after && relevant(before) !== relevant(after);
}

/** What a run of an item needs of its runner; `ignoresClasses`: one runner stands for all classes. */
export function itemNeeds(pipeline: PipelineSpec, ignoresClasses: boolean): ItemNeeds {
  const runnerClass = ignoresClasses ? undefined : runnerClassOf(pipeline, pipeline.component)?.name;
  const milliCards = milliCardsOf(pipeline.component.steps);
  return { ...(runnerClass !== undefined && { runnerClass }), ...(milliCards > 0 && { milliCards }) };
}
