// Numbers and times for readers.

/** `450 ms`, `3.2 s`, `4 min`, `2.5 h`, `3 d`. */
export function durationText(ms: number): string {
  if (ms > 0 && ms < 1) return '< 1 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 86_400_000) return `${(ms / 3_600_000).toFixed(1)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}

export const agoText = (atMs: number, nowMs: number): string =>
  nowMs - atMs < 1_000 ? 'just now' : `${durationText(nowMs - atMs)} ago`;

/** `12,345`. */
export const countText = (count: number): string => count.toLocaleString('en-US');

/** `1 run`, `12 runs`. */
export const several = (count: number, one: string, more = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : more}`;

const UPDATED = ['added', 'reprocessed', 'deleted', 'failed', 'unchanged'] as const;

/** Counts that are not zero, in words. */
export function countsText(
  counts: Readonly<Partial<Record<(typeof UPDATED)[number], number>>>,
  isRunning: boolean,
): string {
  const parts = UPDATED.flatMap((what) => ((counts[what] ?? 0) > 0 ? [`${countText(counts[what] ?? 0)} ${what}`] : []));
  return parts.join(', ') || (isRunning ? 'nothing yet' : 'none');
}
