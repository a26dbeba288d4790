// `fairlead status`: each source in a line: is it fresh, does it work, what is wrong.
import type { PipelineView, SourceView } from '../../operator/api/index.ts';
import { age, columns, duration } from './text.ts';

export function statusText(pipelines: readonly PipelineView[], nowMs: number, isWide: boolean): string {
  const headers = ['PIPELINE', 'SOURCE', 'STATE', 'STALE', 'ITEMS', 'FAILED', 'HELD', 'WAITING', 'CHECKED'];
  const rows = pipelines.flatMap((pipeline) =>
    pipeline.sources.map((source) => [
      pipeline.name,
      source.name,
      stateOf(source),
      staleText(source),
      `${source.items.done}/${source.items.total}`,
      String(source.items.failed + source.items.quarantined),
      String(source.heldSlots),
      String(source.waitingRuns),
      age(source.checkedAtMs, nowMs),
      ...(isWide
        ? [
            source.mode,
            String(source.weight),
            source.nextCycleAtMs === undefined ? '-' : duration(Math.max(0, source.nextCycleAtMs - nowMs)),
          ]
        : []),
    ]),
  );
  const troubles = pipelines.flatMap(({ name, sources }) =>
    sources.flatMap((source) =>
      source.trouble === undefined
        ? []
        : [`${name} ${source.name}: ${source.trouble.reason}: ${source.trouble.message}\n`],
    ),
  );
  return `${columns(isWide ? [...headers, 'MODE', 'WEIGHT', 'NEXT'] : headers, rows)}${troubles.join('')}`;
}

/** `-`: nobody has looked at the source yet, so nothing can be said. */
export function staleText({ staleMs, checkedAtMs }: Pick<SourceView, 'staleMs' | 'checkedAtMs'>): string {
  if (staleMs > 0) return duration(staleMs);
  return checkedAtMs === undefined ? '-' : 'fresh';
}

export function stateOf({ isSuspended, trouble, isWorking, backoffRuns }: SourceView): string {
  if (trouble !== undefined) return trouble.reason;
  if (isSuspended) return 'Suspended';
  if (backoffRuns > 0) return 'BackOff';
  return isWorking ? 'Working' : 'Ready';
}
