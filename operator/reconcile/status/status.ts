// Picture in, status out. Nothing here ticks: a picture in which nothing happened gives the status that stands already.
import {
  fitStatus,
  type LiveSourceStatus,
  type PipelineStatus,
  STATUS_MESSAGE_MAX,
  STATUS_UPDATES_MAX,
  type UpdateStatus,
} from '../../../crds/schema/index.ts';
import type { UpdateRecord } from '../../host/index.ts';
import { liveSourceConditions, pipelineConditions, timeText } from './conditions.ts';
import type { CommonPicture, LiveSourcePicture, PipelinePicture } from './picture.ts';

export function pipelineStatus(
  picture: PipelinePicture,
  previous: PipelineStatus | undefined,
  nowMs: number,
): PipelineStatus {
  const runners = picture.runners.map(({ name, desired, ready, draining }) => ({ name, desired, ready, draining }));
  return fitStatus(
    withoutAbsent({
      ...common(picture),
      conditions: pipelineConditions(picture, previous?.conditions ?? [], nowMs),
      runners,
      sources: picture.sources,
    }),
  );
}

export function liveSourceStatus(
  picture: LiveSourcePicture,
  previous: LiveSourceStatus | undefined,
  nowMs: number,
): LiveSourceStatus {
  return fitStatus(
    withoutAbsent({
      ...common(picture),
      conditions: liveSourceConditions(picture, previous?.conditions ?? [], nowMs),
      kind: picture.kind,
      revision: picture.revision?.slice(0, 128),
      lastCycleAt: optionalTime(picture.lastCycleAtMs),
      nextCycleAt: optionalTime(picture.nextCycleAtMs),
    }),
  );
}

function common(picture: CommonPicture) {
  const { slots, waitingFor, cards, items, failures } = picture;
  return {
    observedGeneration: picture.generation,
    slots: { ...slots },
    waitingFor: { ...waitingFor },
    cards: { ...cards, summary: `${cards.heldMilli / 1000}/${cards.total}` },
    items: { ...items, summary: `${items.done}/${items.total}` },
    freshness: { oldestChangeAt: optionalTime(picture.oldestChangeAtMs), checkedAt: optionalTime(picture.checkedAtMs) },
    updates: picture.updates.slice(0, STATUS_UPDATES_MAX).map(updateStatus),
    handled: { ...picture.handled },
    failures: failures && {
      count: failures.count,
      lastAt: timeText(failures.lastAtMs),
      nextAttemptAt: optionalTime(failures.nextAttemptAtMs),
    },
  };
}

const UPDATE_KINDS = { pipeline: 'Pipeline', cycle: 'Cycle', key: 'Key', drop: 'Cycle' } as const;

function updateStatus(update: UpdateRecord): UpdateStatus {
  const { endedAtMs, startedAtMs, waitedMs, message } = update;
  return withoutAbsent({
    name: update.name.slice(0, 128),
    kind: UPDATE_KINDS[update.kind],
    source: update.source,
    trigger: update.trigger.slice(0, 63),
    result: update.result,
    startedAt: timeText(startedAtMs),
    endedAt: optionalTime(endedAtMs),
    duration: endedAtMs === undefined ? undefined : durationText(endedAtMs - startedAtMs),
    waited: waitedMs === undefined ? undefined : durationText(waitedMs),
    counts: { ...update.counts },
    traceId: update.traceId,
    message: message?.slice(0, STATUS_MESSAGE_MAX),
  });
}

const optionalTime = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : timeText(ms));

/** Go duration of at most two parts, such as 1h20m or 3.5s. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${Math.round(ms / 100) / 10}s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes}m${Math.floor((ms % 60_000) / 1_000)}s`;
  return `${Math.floor(minutes / 60)}h${minutes % 60}m`;
}

/**
 * Drops members that are absent, at all depths, and objects that are empty then. An apply refuses null; and one that empties an object whose
 * members it had set before is merged to a null, which is refused as well.
 */
function withoutAbsent<T>(value: T): Defined<T> {
  return JSON.parse(JSON.stringify(value, (_, member) => (isEmpty(member) ? undefined : member))) as Defined<T>;
}

function isEmpty(member: unknown): boolean {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) return false;
  return Object.values(member).every((value) => value === undefined);
}

type Defined<T> = T extends readonly (infer U)[]
  ? Defined<U>[]
  : T extends object
    ? { [K in keyof T as undefined extends T[K] ? never : K]: Defined<T[K]> } & {
        [K in keyof T as undefined extends T[K] ? K : never]?: Defined<Exclude<T[K], undefined>>;
      }
    : T;
