// The picture of replays: one panel for each, one row per slot and one per card, who held it over time. Plain SVG that reads on light and dark.
import { cardBars } from './card-bars.ts';
import type { Hold, Replay } from './replay.ts';
import type { Workload } from './workload.ts';

/** More rows than this would be thinner than a reader can tell apart. */
export const PICTURE_SLOTS_MAX = 256;

/** One panel of the picture. */
export interface Panel {
  readonly title: string;
  readonly workload: Workload;
  readonly replay: Replay;
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const WIDTH = 960;
const MARGIN = 24;
const TITLE_HEIGHT = 30;
const AXIS_HEIGHT = 34;
const PANEL_GAP = 18;
const ROWS_HEIGHT_MAX = 160;
const LEGEND_HEIGHT = 32;
const FLAG_HEIGHT = 16;
/** Tasks narrower than this run together into one bar. */
const THIN_PX = 5;
const CARD_ROW = 18;
/** Between the rows of slots and those of cards. */
const CARDS_GAP = 10;

/** Hues that stay apart for readers with a colour weakness; the first is calm, so that what comes later stands out. */
const COLOURS = [
  { light: '#a9b8cc', dark: '#4c5d75' },
  { light: '#e8682a', dark: '#ff8a4c' },
  { light: '#1c8f7a', dark: '#38b89f' },
  { light: '#8458c7', dark: '#a98be0' },
  { light: '#c99a06', dark: '#e3bb3f' },
  { light: '#c2417c', dark: '#e36aa0' },
  { light: '#3b78c9', dark: '#6ba3ec' },
  { light: '#6f7d1f', dark: '#a3b43e' },
] as const;

const STYLE = `
text { font: 12px ui-sans-serif, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: var(--ink); }
.title { font-size: 14px; font-weight: 600; }
.quiet { fill: var(--quiet); }
.figure { font-variant-numeric: tabular-nums; }
.card { fill: var(--card); stroke: var(--line); }
.flag { paint-order: stroke; stroke: var(--card); stroke-width: 5px; stroke-linejoin: round; }
.row { fill: var(--row); }
.tick { stroke: var(--line); }
.mark { stroke: var(--ink); stroke-width: 1.25; stroke-dasharray: 3 2.5; }
`;

const theme = (kind: 'light' | 'dark') => {
  const base =
    kind === 'light'
      ? '--card:#ffffff;--ink:#1f2733;--quiet:#5c6878;--line:#d8dee6;--row:#f1f4f7;'
      : '--card:#10151c;--ink:#e4e9f0;--quiet:#94a1b2;--line:#2c3541;--row:#1a212b;';
  return base + COLOURS.map((colour, at) => `--c${at}:${colour[kind]};`).join('');
};

const escapeXml = (text: string) =>
  text.replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char] ?? char);
const px = (value: number) => String(Math.round(value * 100) / 100);
const fill = (update: number) => `var(--c${update % COLOURS.length})`;
const rect = ({ x, y, width, height }: Box, attributes: string) =>
  `<rect x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}" ${attributes}/>`;
const text = (x: number, y: number, content: string, attributes = '') =>
  `<text x="${px(x)}" y="${px(y)}"${attributes && ` ${attributes}`}>${escapeXml(content)}</text>`;

/** Time as people write it: 545 ms, 2.5 s. */
export function timeText(ms: number): string {
  return ms === 0 || (ms < 10_000 && ms % 1_000 !== 0) ? `${ms} ms` : `${ms / 1_000} s`;
}

/** A share of cards as people write it: 500m, 1 card, 2 cards. */
export function shareText(milli: number): string {
  if (milli < 1_000) return `${milli}m`;
  return milli === 1_000 ? '1 card' : `${milli / 1_000} cards`;
}

/** Distance of ticks so that about eight fit. */
function tickMs(endMs: number): number {
  const rough = endMs / 8;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough) ?? 10 * power;
}

/** Neighbours of one update in one slot become one bar where a single task would be too thin to see. */
function bars(holds: readonly Hold[], mergeBelowMs: number): Hold[] {
  const open = new Map<number, Hold>();
  const done: Hold[] = [];
  for (const hold of holds) {
    const last = open.get(hold.slot);
    const joins = last !== undefined && last.update === hold.update && last.endMs === hold.startMs;
    if (joins && hold.endMs - hold.startMs < mergeBelowMs) {
      open.set(hold.slot, { ...last, endMs: hold.endMs });
      continue;
    }
    if (last !== undefined) done.push(last);
    open.set(hold.slot, hold);
  }
  return [...done, ...open.values()];
}

interface Scale {
  readonly plot: Box;
  readonly endMs: number;
  readonly slots: number;
  /** Height of the rows of slots, at the top of the plot. */
  readonly slotsHeight: number;
}

const xAt = ({ plot, endMs }: Scale, ms: number) => plot.x + (plot.width * ms) / endMs;

function drawRows(scale: Scale, holds: readonly Hold[]): string[] {
  const { plot, slots } = scale;
  const step = scale.slotsHeight / slots;
  const gap = Math.min(2, step / 4);
  const yOf = (slot: number) => plot.y + slot * step;
  const thinMs = (THIN_PX * scale.endMs) / plot.width;
  const rows = Array.from({ length: slots }, (_, slot) =>
    rect({ ...plot, y: yOf(slot), height: step - gap }, 'class="row"'),
  );
  const drawn = bars(holds, thinMs).map(({ update, slot, startMs, endMs }) => {
    const x = xAt(scale, startMs);
    const width = Math.max(0.6, xAt(scale, endMs) - x - (endMs - startMs < thinMs ? 0 : 0.8));
    return rect({ x, y: yOf(slot), width, height: step - gap }, `fill="${fill(update)}"`);
  });
  return [...rows, ...drawn];
}

/** One row for each card, below those of the slots; a fraction fills its part of the row's height. */
function drawCards(scale: Scale, { workload, replay }: Panel): string[] {
  const { cards = 0 } = workload;
  const top = scale.plot.y + scale.plot.height - cardsHeight(workload) + CARDS_GAP;
  const yOf = (card: number) => top + card * CARD_ROW;
  const rows = Array.from({ length: cards }, (_, card) =>
    rect({ ...scale.plot, y: yOf(card), height: CARD_ROW - 2 }, 'class="row"'),
  );
  const drawn = cardBars(replay.cardHolds).map(({ update, card, offsetMilli, milli, startMs, endMs }) => {
    const x = xAt(scale, startMs);
    const y = yOf(card) + ((CARD_ROW - 2) * offsetMilli) / 1_000;
    const width = Math.max(0.6, xAt(scale, endMs) - x - 0.4);
    return rect({ x, y, width, height: ((CARD_ROW - 2) * milli) / 1_000 - 0.4 }, `fill="${fill(update)}"`);
  });
  return [...rows, ...drawn];
}

/** Labels at the ends of the axis stay within the picture. */
function anchorAt(scale: Scale, ms: number): 'start' | 'middle' | 'end' {
  if (ms === 0) return 'start';
  return xAt(scale, ms) > scale.plot.x + scale.plot.width - 20 ? 'end' : 'middle';
}

function drawAxis(scale: Scale): string[] {
  const { plot, endMs } = scale;
  const bottom = plot.y + plot.height;
  const step = tickMs(endMs);
  const ticks = Array.from({ length: Math.floor(endMs / step) + 1 }, (_, at) => at * step);
  return ticks.flatMap((ms) => {
    const x = px(xAt(scale, ms));
    return [
      `<line x1="${x}" x2="${x}" y1="${px(bottom)}" y2="${px(bottom + 4)}" class="tick"/>`,
      text(
        xAt(scale, ms),
        bottom + 17,
        step < 1_000 ? `${ms} ms` : `${ms / 1_000} s`,
        `text-anchor="${anchorAt(scale, ms)}" class="quiet"`,
      ),
    ];
  });
}

/** A small arrow above the rows where an update arrives. */
function drawArrivals(scale: Scale, workload: Workload): string[] {
  return workload.updates.map(({ at }, update) => {
    const x = xAt(scale, at);
    const y = scale.plot.y - 2;
    return `<path d="M${px(x - 4)} ${px(y - 7)}h8l-4 7z" fill="${fill(update)}"/>`;
  });
}

/** Flags stand on this many heights, so that close ends do not cover each other. */
const flagLevels = ({ updates }: Workload) => Math.min(4, updates.length);
/** More flags than this would only cover each other; the figures are in the table. */
const FLAGS_MAX = 8;

/** A dashed line with a flag where an update was done. */
function drawEnds(scale: Scale, { workload, replay }: Panel): string[] {
  const { plot } = scale;
  const levels = flagLevels(workload);
  const ends = workload.updates.slice(0, FLAGS_MAX).map(({ name, at }, update) => {
    const finishedMs = replay.finishedAtMs[update]!;
    const x = xAt(scale, finishedMs);
    const y = plot.y - 14 - (levels - 1 - (update % levels)) * FLAG_HEIGHT;
    const isRight = x > plot.x + plot.width * 0.7;
    const place = isRight ? 'class="figure flag" text-anchor="end"' : 'class="figure flag"';
    return {
      line: `<line x1="${px(x)}" x2="${px(x)}" y1="${px(y - 10)}" y2="${px(plot.y + plot.height)}" class="mark"/>`,
      flag: text(x + (isRight ? -6 : 6), y, `${name} done, took ${timeText(finishedMs - at)}`, place),
    };
  });
  return [...ends.map(({ line }) => line), ...ends.map(({ flag }) => flag)];
}

const cardsHeight = ({ cards }: Workload): number => (cards === undefined ? 0 : CARDS_GAP + cards * CARD_ROW);

function slotsHeight({ workload }: Panel): number {
  return Math.max(Math.min(ROWS_HEIGHT_MAX, workload.slots * 14), workload.slots * 2);
}

const rowsHeight = (panel: Panel): number => slotsHeight(panel) + cardsHeight(panel.workload);
const flagsHeight = ({ workload }: Panel) => FLAG_HEIGHT * flagLevels(workload);
const panelHeight = (panel: Panel) => TITLE_HEIGHT + flagsHeight(panel) + rowsHeight(panel) + AXIS_HEIGHT;

function drawPanel(panel: Panel, top: number, endMs: number, width: number): string {
  const plot = {
    x: MARGIN,
    y: top + TITLE_HEIGHT + flagsHeight(panel),
    width: width - 2 * MARGIN,
    height: rowsHeight(panel),
  };
  const scale = { plot, endMs, slots: panel.workload.slots, slotsHeight: slotsHeight(panel) };
  return [
    `<g aria-label="${escapeXml(panel.title)}">`,
    text(plot.x, top + 20, panel.title, 'class="title"'),
    ...drawRows(scale, panel.replay.holds),
    ...drawCards(scale, panel),
    ...drawAxis(scale),
    ...drawArrivals(scale, panel.workload),
    ...drawEnds(scale, panel),
    '</g>',
  ].join('\n');
}

function drawLegend(workload: Workload, top: number, width: number): string {
  let x = MARGIN;
  const parts = workload.updates.slice(0, 12).flatMap(({ name, in: path, tasks, each, at, gpu }, update) => {
    const share = gpu === undefined ? '' : ` with ${shareText(gpu)}`;
    const label = `${path === '' ? '' : `${path}/`}${name}: ${tasks} × ${timeText(each)}${share}, arrives at ${timeText(at)}`;
    const swatch = rect({ x, y: top + 2, width: 12, height: 12 }, `rx="2" fill="${fill(update)}"`);
    const entry = [swatch, text(x + 18, top + 12, label)];
    x += 36 + label.length * 6.6;
    return entry;
  });
  return [
    ...parts,
    text(
      width - MARGIN,
      top + 12,
      workload.cards === undefined ? 'one row per slot' : 'one row per slot, then per card',
      'text-anchor="end" class="quiet"',
    ),
  ].join('\n');
}

export interface PictureOptions {
  /** End of the scale of time; default: when the last update of the panel's workload is done. */
  readonly endMs?: number;
  /** In pixels; text keeps its size. Default 960. */
  readonly width?: number;
  /** Whether who has which colour stands above the panels. Default true. */
  readonly legend?: boolean;
}

/** When the last of the panels is done: the scale of time that they can share. */
export const lastEndMs = (panels: readonly Panel[]): number =>
  Math.max(...panels.flatMap(({ replay }) => replay.finishedAtMs));

/** Draws the panels one below the other; panels of one workload share the legend above them and the scale of time. */
export function picture(panels: readonly Panel[], options: PictureOptions = {}): string {
  const { width = WIDTH, legend = true } = options;
  const parts: string[] = [];
  let y = MARGIN;
  let shown: Workload['updates'] | undefined;
  for (const panel of panels) {
    if (panel.workload.updates !== shown) {
      shown = panel.workload.updates;
      if (legend) parts.push(drawLegend(panel.workload, y, width));
      if (legend) y += LEGEND_HEIGHT;
    }
    const together = panels.filter(({ workload }) => workload.updates === shown);
    parts.push(drawPanel(panel, y, options.endMs ?? lastEndMs(together), width));
    y += panelHeight(panel) + PANEL_GAP;
  }
  const height = y - PANEL_GAP + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${px(height)}" width="${width}" height="${px(height)}" role="img">`,
    `<title>Who held each slot over time, under ${escapeXml(panels.map(({ title }) => title).join('; '))}</title>`,
    `<style>:root{${theme('light')}}@media (prefers-color-scheme:dark){:root{${theme('dark')}}}${STYLE}</style>`,
    rect({ x: 0.5, y: 0.5, width: width - 1, height: height - 1 }, 'rx="10" class="card"'),
    ...parts,
    '</svg>\n',
  ].join('\n');
}
