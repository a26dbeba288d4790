// What the API says of a Pipeline: plain JSON for `top`, `updates`, the dashboard and programs. Times are milliseconds of the epoch.
//   V1. Names, counts, times and messages only: no value of a spec, so no secret and no content of an item.
//   V2. Bounded: by sources, open updates and runners; never by items or waiting runs.
import {
  type CardsPicture,
  type Failure,
  type ItemCounts,
  NO_ITEMS,
  type Records,
  type RunnerPicture,
  type UpdateRecord,
} from '../host/index.ts';
import type { BranchSnapshot, TreeSnapshot } from '../inspection/index.ts';
import type { Watched } from './watched.ts';

export interface SourceView {
  readonly name: string;
  readonly mode: 'Refresh' | 'Watch';
  readonly isSuspended: boolean;
  readonly weight: number;
  readonly heldSlots: number;
  readonly waitingRuns: number;
  readonly backoffRuns: number;
  readonly items: ItemCounts;
  /** Age of the oldest change that the targets do not show; 0: they show everything that is known. */
  readonly staleMs: number;
  /** When a cycle last compared the whole source; absent: never. */
  readonly checkedAtMs?: number;
  readonly nextCycleAtMs?: number;
  readonly isWorking: boolean;
  /** Why the last cycle did not show the whole source. */
  readonly trouble?: { readonly reason: string; readonly message: string };
}

export interface PipelineView {
  /** "namespace/name". */
  readonly name: string;
  readonly isSuspended: boolean;
  /** The limit of slots; held ones are those of `tree.pool`. */
  readonly slotsMax: number;
  readonly tree: TreeSnapshot;
  readonly sources: readonly SourceView[];
  readonly runners: readonly RunnerPicture[];
  /** Cards of these runners, and who holds them. */
  readonly cards: CardsPicture;
  /** Updates that are open, and the last ones that did something; newest first. */
  readonly updates: readonly UpdateRecord[];
  /** Newest first. */
  readonly failures: readonly Failure[];
}

export interface Overview {
  readonly atMs: number;
  readonly pipelines: readonly PipelineView[];
}

/** Failures that an overview carries. */
const FAILURES_SHOWN = 20;
/** Updates that an overview carries of each Pipeline. */
const UPDATES_SHOWN = 50;

export function pipelineView(host: Watched, nowMs: number): PipelineView {
  const { pipeline, slotsMax } = host.specs;
  const tree = host.dispatcher.snapshot();
  return {
    name: host.name,
    isSuspended: pipeline.suspend,
    slotsMax,
    tree,
    sources: [...host.sources].map((source) => sourceView(host, source, tree.pool, nowMs)),
    runners: host.runners,
    cards: host.cards,
    updates: updatesOf(host, nowMs).slice(0, UPDATES_SHOWN),
    failures: host.recent.failures.slice(0, FAILURES_SHOWN),
  };
}

/** Updates of all sources and of the Pipeline itself that are remembered, newest first. */
export function updatesOf(host: Watched, nowMs: number): UpdateRecord[] {
  const all = [undefined, ...host.sources].flatMap((source) => host.records(source)?.updates(nowMs, 'all') ?? []);
  return all.sort((a, b) => b.startedAtMs - a.startedAtMs || (a.name < b.name ? 1 : -1));
}

function sourceView(host: Watched, name: string, pool: BranchSnapshot, nowMs: number): SourceView {
  const spec = host.specs.sources.get(name);
  const records = host.records(name);
  const branch = pool.children.find((child) => child.kind === 'source' && child.name === name);
  const nextCycleAtMs = host.nextCycleAtMs(name);
  return {
    name,
    mode: spec?.mode ?? 'Refresh',
    isSuspended: host.specs.pipeline.suspend || (spec?.suspend ?? false),
    weight: branch?.weight ?? 1,
    heldSlots: branch?.heldSlots ?? 0,
    waitingRuns: branch?.waiting ?? 0,
    backoffRuns: host.activity(name).backoff,
    items: records?.items ?? NO_ITEMS,
    staleMs: staleMs(records, nowMs),
    ...(records?.checkedAtMs !== undefined && { checkedAtMs: records.checkedAtMs }),
    ...(nextCycleAtMs !== undefined && { nextCycleAtMs }),
    isWorking: records?.isWorking ?? false,
    ...(records?.trouble !== undefined && { trouble: records.trouble }),
  };
}

export function staleMs(records: Records | undefined, nowMs: number): number {
  return records?.oldestChangeAtMs === undefined ? 0 : Math.max(0, nowMs - records.oldestChangeAtMs);
}
