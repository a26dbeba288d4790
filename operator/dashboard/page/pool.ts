// The pool as cells and the tree as a table: who holds slots, who waits, how fresh each source is.
import type { FreshnessPoint, Overview, PipelineView, SourceView } from '../../api/index.ts';
import { el, facts, svg, table } from './dom.ts';
import { agoText, durationText } from './text.ts';

type Branch = PipelineView['tree']['pool'];

/** Cells that are drawn at the most; in a larger pool one cell stands for several slots. */
const CELLS_MAX = 512;
const COLOURS = 8;
/** Updates shown below a source; the rest is counted. */
const UPDATES_SHOWN = 12;

export type Freshness = ReadonlyMap<string, readonly FreshnessPoint[]>;

export function poolPage(overview: Overview, freshness: Freshness): HTMLElement[] {
  if (overview.pipelines.length === 0) return [el('section', {}, el('p', {}, 'No Pipeline is served here yet.'))];
  return overview.pipelines.map((pipeline) => pipelineSection(pipeline, overview.atMs, freshness));
}

function pipelineSection(pipeline: PipelineView, nowMs: number, freshness: Freshness): HTMLElement {
  const { name, tree, isSuspended, runners } = pipeline;
  const { heldSlots, waiting } = tree.pool;
  return el(
    'section',
    { 'aria-label': `Pipeline ${name}` },
    el('h1', {}, name, ...(isSuspended ? [el('span', { class: 'quiet' }, ' (suspended)')] : [])),
    facts([
      ['Slots held', `${heldSlots} of ${tree.slots}`],
      ['Runs waiting', String(waiting)],
      ['Runners', runnersText(runners)],
      ...cardFacts(pipeline),
    ]),
    cells(pipeline),
    key(pipeline),
    el('h2', {}, 'Sources and updates'),
    treeTable(pipeline, nowMs, freshness),
  );
}

function runnersText(runners: PipelineView['runners']): string {
  if (runners.length === 0) return 'none connected';
  const silent = runners.filter(({ phase }) => phase === 'silent').length;
  return silent === 0 ? String(runners.length) : `${runners.length}, ${silent} silent`;
}

function cardFacts({ cards }: PipelineView): [string, string][] {
  if (cards.total === 0) return [];
  return [
    ['Cards held', `${(cards.heldMilli / 1000).toFixed(1)} of ${cards.total}`],
    ['Calls waiting for a card', String(cards.waiting)],
  ];
}

const colourOf = (at: number): string => `var(--c${at % COLOURS})`;

/** One cell for each slot, the held ones first, coloured by source. */
function cells({ tree }: PipelineView): HTMLElement {
  const perCell = Math.max(1, Math.ceil(tree.slots / CELLS_MAX));
  const held = tree.pool.children.flatMap((branch, at) =>
    Array.from({ length: Math.ceil(branch.heldSlots / perCell) }, () => ({ colour: colourOf(at), title: branch.name })),
  );
  const total = Math.max(held.length, Math.ceil(tree.slots / perCell));
  const all = Array.from({ length: total }, (_, at) => {
    const cell = el('span', { class: 'cell', title: held[at]?.title ?? 'free' });
    if (held[at] !== undefined) cell.style.background = held[at].colour;
    return cell;
  });
  const label = tree.pool.children.map(({ name, heldSlots }) => `${name} holds ${heldSlots}`).join(', ');
  const scale = perCell === 1 ? '' : ` One cell stands for ${perCell} slots.`;
  const free = Math.max(0, tree.slots - tree.pool.heldSlots);
  return el(
    'div',
    { class: 'pool', role: 'img', 'aria-label': `${label === '' ? 'Nothing is held' : label}; ${free} free.${scale}` },
    ...all,
  );
}

function key({ tree }: PipelineView): HTMLElement {
  const items = tree.pool.children.map((branch, at) => {
    const swatch = el('span', { class: 'cell' });
    swatch.style.background = colourOf(at);
    return el('li', {}, swatch, `${branch.name}: ${branch.heldSlots} held, ${branch.waiting} waiting`);
  });
  return el('ul', { class: 'key' }, ...items);
}

function treeTable(pipeline: PipelineView, nowMs: number, freshness: Freshness): HTMLElement {
  const branches = new Map(pipeline.tree.pool.children.map((branch) => [branch.name, branch]));
  const named = new Set(pipeline.sources.map(({ name }) => name));
  const own = pipeline.tree.pool.children.filter(({ name }) => !named.has(name));
  const rows = [
    ...pipeline.sources.flatMap((source) => sourceRows(pipeline, source, branches.get(source.name), nowMs, freshness)),
    ...own.flatMap((branch) => branchRows(pipeline, branch, 0)),
  ];
  const columns = [
    { title: 'Branch', isText: true },
    { title: 'State', isText: true },
    { title: 'Held' },
    { title: 'Waiting' },
    { title: 'Items done' },
    { title: 'Failed' },
    { title: 'Stale' },
    { title: 'Last hour', isText: true },
    { title: 'Checked' },
  ];
  return table('What each branch of the tree holds and waits for', columns, rows);
}

function sourceRows(
  pipeline: PipelineView,
  source: SourceView,
  branch: Branch | undefined,
  nowMs: number,
  freshness: Freshness,
) {
  const { items } = source;
  const row = {
    cells: [
      source.name + (source.weight === 1 ? '' : ` (weight ${source.weight})`),
      stateCell(source),
      String(source.heldSlots),
      String(source.waitingRuns),
      `${items.done} of ${items.total}`,
      String(items.failed + items.quarantined),
      source.staleMs > 0 ? durationText(source.staleMs) : source.checkedAtMs === undefined ? '–' : 'fresh',
      sparkline(source.name, freshness.get(`${pipeline.name}/${source.name}`) ?? []),
      source.checkedAtMs === undefined ? '–' : agoText(source.checkedAtMs, nowMs),
    ],
  };
  const children = branch?.children ?? [];
  const hidden = children.length - UPDATES_SHOWN;
  return [
    row,
    ...children.slice(0, UPDATES_SHOWN).flatMap((child) => branchRows(pipeline, child, 1)),
    ...(hidden > 0 ? [{ cells: [`and ${hidden} more updates`, '', '', '', '', '', '', '', ''], depth: 1 }] : []),
  ];
}

function stateCell({ trouble, isSuspended, isWorking, backoffRuns }: SourceView): HTMLElement {
  if (trouble !== undefined) return el('span', { class: 'bad', title: trouble.message }, trouble.reason);
  if (isSuspended) return el('span', {}, 'Suspended');
  if (backoffRuns > 0) return el('span', {}, `${backoffRuns} in back-off`);
  return el('span', {}, isWorking ? 'Working' : 'Ready');
}

type Row = { readonly cells: (string | HTMLElement | SVGElement)[]; readonly depth: number };

function branchRows(pipeline: PipelineView, branch: Branch, depth: number): Row[] {
  const name =
    branch.kind === 'update'
      ? el(
          'a',
          { href: `#/updates/${encodeURIComponent(pipeline.name)}/${encodeURIComponent(branch.name)}` },
          branch.name,
        )
      : branch.name;
  const state = branch.following > 0 ? `${branch.following} wait for another run` : branch.waiting > 0 ? 'Waiting' : '';
  const row = { cells: [name, state, String(branch.heldSlots), String(branch.waiting), '', '', '', '', ''], depth };
  return [row, ...branch.children.slice(0, UPDATES_SHOWN).flatMap((child) => branchRows(pipeline, child, depth + 1))];
}

const SPARK = { width: 140, height: 26 };

/** How stale a source was over the last hour. */
export function sparkline(name: string, points: readonly FreshnessPoint[]): SVGElement {
  const highest = Math.max(1, ...points.map(({ staleMs }) => staleMs));
  const first = points[0]?.atMs ?? 0;
  const spanMs = Math.max(1, (points.at(-1)?.atMs ?? 0) - first);
  const y = (staleMs: number) => (SPARK.height - 3 - (staleMs / highest) * (SPARK.height - 6)).toFixed(1);
  const path = points.map(({ atMs, staleMs }, at) => {
    const x = (((atMs - first) / spanMs) * SPARK.width).toFixed(1);
    return `${at === 0 ? 'M' : 'L'}${x} ${y(staleMs)}`;
  });
  const label =
    points.length === 0
      ? `${name}: nothing recorded yet`
      : `${name}: at most ${durationText(highest)} stale in the time shown`;
  return svg(
    'svg',
    { class: 'spark', viewBox: `0 0 ${SPARK.width} ${SPARK.height}`, role: 'img', 'aria-label': label },
    svg('line', { x1: 0, x2: SPARK.width, y1: SPARK.height - 2, y2: SPARK.height - 2 }),
    svg('path', { d: path.join('') }),
  );
}
