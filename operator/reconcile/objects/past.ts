// What a status says about the time before this operator: from there its records go on.
import {
  durationMs,
  type LiveSourceSpec,
  type LiveSourceStatus,
  type UpdateStatus,
} from '../../../crds/schema/index.ts';
import { NO_COUNTS } from '../../../runner/protocol/index.ts';
import type { Past, SourcePast, UpdateRecord } from '../../host/index.ts';

const KINDS = { Pipeline: 'pipeline', Cycle: 'cycle', Key: 'key' } as const;
/** Sources that were listed lately are listed again spread over this time, so that a new leader makes no storm. */
const SPREAD_MS = 60_000;

export function pastOf(status: Partial<LiveSourceStatus> | undefined): Past {
  const lastCycleAtMs = timeMs(status?.lastCycleAt);
  const checkedAtMs = timeMs(status?.freshness?.checkedAt);
  const { count, lastAt } = status?.failures ?? {};
  return {
    ...(status?.items && { items: numbers(status.items) }),
    updates: (status?.updates ?? []).map(recordOf),
    ...(lastCycleAtMs !== undefined && { lastCycleAtMs }),
    ...(checkedAtMs !== undefined && { checkedAtMs }),
    ...(count !== undefined && { failures: { count, lastAtMs: timeMs(lastAt) ?? 0 } }),
  };
}

/** The same for a source, and how long its first cycle may wait. `random` is uniform in [0, 1). */
export function sourcePastOf(
  spec: LiveSourceSpec,
  status: Partial<LiveSourceStatus> | undefined,
  isEdited: boolean,
  random: () => number,
): SourcePast {
  const past = pastOf(status);
  if (past.lastCycleAtMs === undefined || isEdited) return past;
  const intervalMs = spec.interval === undefined ? SPREAD_MS : durationMs(spec.interval);
  return { ...past, delayMs: Math.max(1, random() * Math.min(intervalMs, SPREAD_MS)) };
}

function recordOf(update: UpdateStatus): UpdateRecord {
  const endedAtMs = timeMs(update.endedAt);
  return {
    name: update.name,
    kind: KINDS[update.kind],
    ...(update.source !== undefined && { source: update.source }),
    trigger: update.trigger,
    result: update.result,
    startedAtMs: timeMs(update.startedAt) ?? 0,
    ...(endedAtMs !== undefined && { endedAtMs }),
    counts: { ...NO_COUNTS, ...numbers(update.counts) },
    ...(update.traceId !== undefined && { traceId: update.traceId }),
    ...(update.message !== undefined && { message: update.message }),
  };
}

const numbers = (counts: Readonly<Record<string, unknown>>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).filter((entry): entry is [string, number] => typeof entry[1] === 'number'));

function timeMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
