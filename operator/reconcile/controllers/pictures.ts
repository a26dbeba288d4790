// From what a host knows to the pictures that statuses are made from.
import { type LiveSourceSpec, sourceOf } from '../../../crds/schema/index.ts';
import { NO_ITEMS, type PipelineHost, type Records } from '../../host/index.ts';
import type { Handled } from '../objects/triggers.ts';
import type { StoredObject } from '../ports.ts';
import type { Kept } from '../runners/kept.ts';
import type { CommonPicture, LiveSourcePicture, PipelinePicture, Trouble } from '../status/picture.ts';

const NOTHING_HELD = { held: 0, waiting: 0, backoff: 0, inFlight: 0 };
const NO_CARDS = { total: 0, heldMilli: 0, waiting: 0 };

interface Seen {
  readonly object: StoredObject;
  readonly host: PipelineHost | undefined;
  readonly handled: Handled;
  readonly isSuspended: boolean;
  readonly refusal: Trouble | undefined;
  readonly trouble: Trouble | undefined;
  readonly nowMs: number;
}

export interface PipelineSeen extends Seen {
  readonly slotsMax: number;
  readonly sources: number;
  readonly kept: Kept | undefined;
}

export interface SourceSeen extends Seen {
  readonly spec: LiveSourceSpec | undefined;
  readonly pipeline: LiveSourcePicture['pipeline'];
  readonly slotsMax: number;
  /** Whether some class has room for another run. */
  readonly hasRoom: boolean;
}

export function pipelinePicture(seen: PipelineSeen): PipelinePicture {
  const { host, kept } = seen;
  const records = host?.records(undefined);
  const trouble = seen.trouble ?? host?.storeTrouble;
  return {
    ...common({ ...seen, trouble }, records, undefined, seen.slotsMax, hasRoom(kept)),
    items: sumOfItems(host),
    ...oldest(host),
    sources: seen.sources,
    runners: kept?.classes ?? [],
  };
}

export function sourcePicture(seen: SourceSeen): LiveSourcePicture {
  const { host, object, spec } = seen;
  const name = object.metadata.name;
  const records = host?.records(name);
  const nextCycleAtMs = host?.nextCycleAtMs(name);
  const trouble = seen.trouble ?? records?.trouble;
  return {
    ...common({ ...seen, trouble }, records, name, seen.slotsMax, seen.hasRoom),
    items: records?.items ?? NO_ITEMS,
    ...(records?.oldestChangeAtMs !== undefined && { oldestChangeAtMs: records.oldestChangeAtMs }),
    ...(records?.checkedAtMs !== undefined && { checkedAtMs: records.checkedAtMs }),
    kind: spec === undefined ? '' : sourceOf(spec.source).kind,
    pipeline: seen.pipeline,
    ...(records?.lastCycleAtMs !== undefined && { lastCycleAtMs: records.lastCycleAtMs }),
    ...(nextCycleAtMs !== undefined && { nextCycleAtMs }),
    ...(trouble !== undefined && { trouble }),
    ...(host?.storeTrouble !== undefined && { storeTrouble: host.storeTrouble }),
  };
}

/** Whether a run that waits would find a runner: the pods that are wanted are there. */
export function hasRoom(kept: Kept | undefined): boolean {
  return kept?.classes.some(({ ready }) => ready > 0) ?? false;
}

function common(
  seen: Seen,
  records: Records | undefined,
  source: string | undefined,
  limit: number,
  isRoom: boolean,
): Omit<CommonPicture, 'items'> {
  const { object, host, handled, isSuspended, refusal, nowMs } = seen;
  const { held, waiting, backoff, inFlight } = host?.activity(source) ?? NOTHING_HELD;
  const cards = cardsOf(host, source);
  return {
    generation: object.metadata.generation ?? 0,
    isSuspended,
    isDeleting: object.metadata.deletionTimestamp !== undefined,
    ...(refusal !== undefined && { refusal }),
    ...(seen.trouble !== undefined && { trouble: seen.trouble }),
    slots: { limit, held, waiting, inFlight },
    waitingFor: { slot: isRoom ? waiting : 0, card: cards.waiting, runner: isRoom ? 0 : waiting, backoff },
    cards,
    updates: records?.updates(nowMs) ?? [],
    handled,
    ...(records?.failures !== undefined && { failures: records.failures }),
  };
}

/** Cards of all runners; what the source, or the whole Pipeline, holds of them and waits for. */
function cardsOf(host: PipelineHost | undefined, source: string | undefined): CommonPicture['cards'] {
  if (host === undefined) return NO_CARDS;
  const { total, heldMilli, waiting, branches } = host.cards;
  if (source === undefined) return { total, heldMilli, waiting };
  const own = branches.find(({ path }) => path.length === 1 && path[0] === source);
  return { total, heldMilli: own?.heldMilli ?? 0, waiting: own?.waiting ?? 0 };
}

function sumOfItems(host: PipelineHost | undefined): CommonPicture['items'] {
  const sum = { ...NO_ITEMS };
  for (const name of host?.sources ?? []) {
    const items = host?.records(name)?.items ?? NO_ITEMS;
    for (const part of Object.keys(sum) as (keyof typeof sum)[]) sum[part] += items[part];
  }
  return sum;
}

function oldest(host: PipelineHost | undefined): Pick<CommonPicture, 'oldestChangeAtMs'> {
  const times = [...(host?.sources ?? [])].flatMap((name) => host?.records(name)?.oldestChangeAtMs ?? []);
  return times.length === 0 ? {} : { oldestChangeAtMs: times.reduce((a, b) => Math.min(a, b)) };
}
