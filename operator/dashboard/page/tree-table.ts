// The tree as a table: for each source and its updates what they hold and wait for, how far they are, and how fresh.
import type { PipelineView, SourceView } from '../../api/index.ts';
import { colourOf, swatch } from './colours.ts';
import { type Child, chip, el, measured, type Row, table } from './dom.ts';
import { type Freshness, spanMsOf, sparkline } from './sparkline.ts';
import { agoText, countText, durationText, several } from './text.ts';

type Branch = PipelineView['tree']['pool'];

/** Updates shown below a source, and sources of a Pipeline: the rest is counted. */
const UPDATES_SHOWN = 12;
const SOURCES_SHOWN = 60;

export interface Moment {
  readonly nowMs: number;
  readonly freshness: Freshness;
}

export function treeTable(pipeline: PipelineView, { nowMs, freshness }: Moment): HTMLElement {
  const branches = new Map(pipeline.tree.pool.children.map((branch) => [branch.name, branch]));
  const named = new Set(pipeline.sources.map(({ name }) => name));
  const own = pipeline.tree.pool.children.filter(({ name }) => !named.has(name));
  const spanMs = spanMsOf(freshness, nowMs);
  const shown = busiestFirst(pipeline.sources).slice(0, SOURCES_SHOWN);
  const hidden = pipeline.sources.length - shown.length;
  const rows: Row[] = [
    ...own.flatMap((branch) => branchRows(pipeline, branch, 0)),
    ...shown.flatMap((source) => {
      const samples = freshness.get(`${pipeline.name}/${source.name}`) ?? [];
      const line = sparkline(source.name, [...samples, { atMs: nowMs, staleMs: source.staleMs }], { nowMs, spanMs });
      return sourceRows(pipeline, source, branches.get(source.name), line, nowMs);
    }),
    ...(hidden > 0 ? [wordsRow(`and ${several(hidden, 'more source')}, none of them busier than these`, 0)] : []),
  ];
  const columns = [
    { title: 'Branch', isText: true },
    { title: 'State', isText: true },
    { title: 'Slots held' },
    { title: 'Waiting' },
    { title: 'Items done' },
    { title: 'Failed' },
    { title: 'Stale' },
    { title: `Stale, last ${durationText(spanMs)}`, isText: true },
    { title: 'Checked' },
  ];
  return table('What each branch of the tree holds and waits for', columns, rows);
}

/** In the order of the objects, unless there are more than can be shown. */
function busiestFirst(sources: readonly SourceView[]): readonly SourceView[] {
  if (sources.length <= SOURCES_SHOWN) return sources;
  const rank = ({ trouble, heldSlots, waitingRuns, isWorking, staleMs }: SourceView): number =>
    (trouble === undefined ? 0 : 4) + (heldSlots + waitingRuns > 0 ? 2 : 0) + (isWorking || staleMs > 0 ? 1 : 0);
  return [...sources].sort((a, b) => rank(b) - rank(a));
}

function sourceRows(
  pipeline: PipelineView,
  source: SourceView,
  branch: Branch | undefined,
  line: Child,
  nowMs: number,
): Row[] {
  const { name, weight, items, trouble } = source;
  const colour = colourOf(pipeline, name);
  const weighted = weight === 1 ? [] : [el('span', { class: 'quiet' }, ` weight ${weight}`)];
  const row = {
    class: 'source',
    cells: [
      el('span', {}, swatch(colour), name, ...weighted),
      stateChip(source),
      heldCell(source.heldSlots, pipeline.tree.slots, colour),
      numberCell(source.waitingRuns),
      progressCell(source),
      items.failed + items.quarantined === 0
        ? numberCell(0)
        : el('span', { class: 'bad' }, countText(items.failed + items.quarantined)),
      staleText(source),
      line,
      source.checkedAtMs === undefined ? '–' : agoText(source.checkedAtMs, nowMs),
    ],
  };
  const children = branch?.children ?? [];
  const hidden = children.length - UPDATES_SHOWN;
  return [
    row,
    ...(trouble === undefined ? [] : [wordsRow(trouble.message, 1, 'trouble')]),
    ...children.slice(0, UPDATES_SHOWN).flatMap((child) => branchRows(pipeline, child, 1)),
    ...(hidden > 0 ? [wordsRow(`and ${several(hidden, 'more update')}`, 1)] : []),
  ];
}

export function staleText({ staleMs, checkedAtMs }: SourceView): string {
  if (staleMs > 0) return durationText(staleMs);
  return checkedAtMs === undefined ? '–' : 'fresh';
}

function stateChip({ trouble, isSuspended, isWorking, backoffRuns, waitingRuns, heldSlots }: SourceView): HTMLElement {
  if (trouble !== undefined) return chip(trouble.reason, 'bad', trouble.message);
  if (isSuspended) return chip('Suspended', 'plain');
  if (backoffRuns > 0) return chip(`${countText(backoffRuns)} in back-off`, 'warn');
  if (waitingRuns > 0 && heldSlots === 0) return chip('Waiting', 'warn');
  return isWorking ? chip('Working', 'busy') : chip('Ready', 'good');
}

/** How many, and how much of the pool that is. */
function heldCell(held: number, slots: number, colour: string): HTMLElement {
  return measured(slots === 0 ? 0 : held / slots, numberCell(held), colour, false);
}

/** Zeros step back. */
const numberCell = (count: number): HTMLElement => el('span', { class: count === 0 && 'quiet' }, countText(count));

function progressCell({ items: { done, total, pending } }: SourceView): HTMLElement {
  const words = el('span', {}, total === 0 ? '–' : `${countText(done)} of ${countText(total)}`);
  return pending === 0 || total === 0 ? words : measured(done / total, words);
}

function branchRows(pipeline: PipelineView, branch: Branch, depth: number): Row[] {
  const { kind, name, heldSlots, waiting, following, children } = branch;
  const href = `#/updates/${encodeURIComponent(pipeline.name)}/${encodeURIComponent(name)}`;
  const state =
    following > 0
      ? `${several(following, 'run')} wait for another`
      : heldSlots === 0 && waiting > 0
        ? 'Waiting'
        : heldSlots > 0
          ? 'Executing'
          : '';
  const row = {
    cells: [
      kind === 'update' ? el('a', { href }, name) : name,
      el('span', { class: 'quiet' }, state),
      numberCell(heldSlots),
      numberCell(waiting),
      ...EMPTY,
    ],
    depth,
  };
  return [row, ...children.slice(0, UPDATES_SHOWN).flatMap((child) => branchRows(pipeline, child, depth + 1))];
}

const EMPTY: readonly string[] = ['', '', '', '', ''];

function wordsRow(words: string, depth: number, kind = 'quiet'): Row {
  return { cells: [el('span', { class: 'words' }, words), '', '', '', ...EMPTY], depth, class: kind };
}
