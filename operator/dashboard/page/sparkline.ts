// How stale a source was over time, as a small line. All lines of a page share one span of time, so that they can be compared.
import type { FreshnessPoint } from '../../api/index.ts';
import { el, svg } from './dom.ts';
import { durationText } from './text.ts';

/** By "namespace/pipeline/source". */
export type Freshness = ReadonlyMap<string, readonly FreshnessPoint[]>;

const BOX = { width: 140, height: 28 };
const HOUR_MS = 3_600_000;
const SPAN_MIN_MS = 60_000;

/** Time that the lines show: an hour, or as long as there are samples. */
export function spanMsOf(freshness: Freshness, nowMs: number): number {
  const firsts = [...freshness.values()].flatMap(([first]) => (first === undefined ? [] : [nowMs - first.atMs]));
  return Math.min(HOUR_MS, Math.max(SPAN_MIN_MS, ...firsts));
}

export function sparkline(
  name: string,
  points: readonly FreshnessPoint[],
  { nowMs, spanMs }: { readonly nowMs: number; readonly spanMs: number },
): HTMLElement | SVGElement {
  if (points.length < 2) return el('span', { class: 'quiet' }, '–');
  const highest = Math.max(...points.map(({ staleMs }) => staleMs));
  const x = (atMs: number) => Math.max(0, BOX.width * (1 - (nowMs - atMs) / spanMs));
  const y = (staleMs: number) => BOX.height - 2 - (highest === 0 ? 0 : (staleMs / highest) * (BOX.height - 6));
  const line = points.map(({ atMs, staleMs }) => `${x(atMs).toFixed(1)} ${y(staleMs).toFixed(1)}`).join('L');
  const [first, last] = [points[0]!, points.at(-1)!];
  const area = `M${x(first.atMs).toFixed(1)} ${BOX.height - 1}L${line}L${x(last.atMs).toFixed(1)} ${BOX.height - 1}Z`;
  const label = `${name}: ${highest === 0 ? 'fresh' : `at most ${durationText(highest)} stale`} in the last ${durationText(spanMs)}`;
  const title = svg('title');
  title.textContent = label;
  return svg(
    'svg',
    { class: 'spark', viewBox: `0 0 ${BOX.width} ${BOX.height}`, role: 'img', 'aria-label': label },
    title,
    svg('path', { class: 'area', d: area }),
    svg('path', { class: 'line', d: `M${line}` }),
  );
}
