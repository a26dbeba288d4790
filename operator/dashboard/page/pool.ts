// The pool page: for each Pipeline the figures of this moment, its slots as cells, its tree as a table, its runners and cards.
import type { Overview, PipelineView, SourceView } from '../../api/index.ts';
import { cells, key } from './cells.ts';
import { type Child, chip, el, measured, meter, nothing, styled, table } from './dom.ts';
import type { Freshness } from './sparkline.ts';
import { countText, durationText, several } from './text.ts';
import { treeTable } from './tree-table.ts';

export function poolPage({ pipelines, atMs }: Overview, freshness: Freshness): HTMLElement[] {
  const title = el('h1', { class: 'unseen' }, 'Pool');
  if (pipelines.length === 0)
    return [
      title,
      el(
        'section',
        {},
        nothing(
          'No Pipeline is served here yet.',
          'Apply one (',
          el('code', {}, 'kubectl apply -f pipeline.yaml'),
          '), or start ',
          el('code', {}, 'fairlead dev --watch'),
          '; it shows here by itself.',
        ),
      ),
    ];
  return [title, ...pipelines.map((pipeline) => pipelineSection(pipeline, { nowMs: atMs, freshness }))];
}

function pipelineSection(
  pipeline: PipelineView,
  moment: { readonly nowMs: number; readonly freshness: Freshness },
): HTMLElement {
  const { name, isSuspended } = pipeline;
  return el(
    'section',
    { 'aria-label': `Pipeline ${name}` },
    el('h2', { class: 'title' }, name, ...(isSuspended ? [' ', chip('Suspended', 'plain')] : [])),
    tiles(pipeline),
    el('h3', {}, 'Who holds the slots'),
    cells(pipeline),
    key(pipeline),
    el('h3', {}, 'Sources and updates'),
    pipeline.sources.length === 0 && pipeline.tree.pool.children.length === 0
      ? nothing('No LiveSource feeds this Pipeline yet.')
      : treeTable(pipeline, moment),
    ...cardsPart(pipeline),
    ...runnersPart(pipeline),
  );
}

interface Tile {
  readonly name: string;
  readonly value: Child;
  readonly unit?: string;
  /** From 0 to 1. */
  readonly part?: number;
  readonly note?: string;
  readonly isBad?: boolean;
}

function tiles(pipeline: PipelineView): HTMLElement {
  const all = [slotsTile(pipeline), waitingTile(pipeline), stalestTile(pipeline), runnersTile(pipeline)];
  if (pipeline.cards.total > 0) all.push(cardsTile(pipeline));
  all.push(failuresTile(pipeline));
  return el('dl', { class: 'tiles' }, ...all.map(tileOf));
}

function tileOf({ name, value, unit, part, note, isBad }: Tile): HTMLElement {
  const figure = el('dd', { class: isBad === true ? 'figure bad' : 'figure' }, value);
  if (unit !== undefined) figure.append(el('span', { class: 'unit' }, unit));
  return el(
    'div',
    { class: 'tile' },
    el('dt', {}, name),
    figure,
    ...(part === undefined ? [] : [el('dd', {}, meter(part))]),
    ...(note === undefined ? [] : [el('dd', { class: 'note' }, note)]),
  );
}

const slotsTile = ({ tree: { slots, pool } }: PipelineView): Tile => ({
  name: 'Slots held',
  value: countText(pool.heldSlots),
  unit: ` of ${countText(slots)}`,
  part: slots === 0 ? 0 : pool.heldSlots / slots,
});

function waitingTile({ tree, sources }: PipelineView): Tile {
  const backoff = sources.reduce((sum, { backoffRuns }) => sum + backoffRuns, 0);
  const { waiting } = tree.pool;
  const note = backoff > 0 ? `and ${countText(backoff)} in back-off` : waiting === 0 ? 'nobody waits' : 'for a slot';
  return { name: 'Runs waiting', value: countText(waiting), note };
}

function stalestTile({ sources }: PipelineView): Tile {
  const [stalest] = [...sources].sort((a, b) => b.staleMs - a.staleMs);
  if (stalest === undefined || sources.every(isUnseen)) return { name: 'Stalest source', value: '–' };
  if (stalest.staleMs === 0) return { name: 'Stalest source', value: 'fresh', note: 'nothing is missing' };
  return { name: 'Stalest source', value: durationText(stalest.staleMs), note: stalest.name };
}

const isUnseen = ({ staleMs, checkedAtMs }: SourceView): boolean => staleMs === 0 && checkedAtMs === undefined;

function runnersTile({ runners, tree }: PipelineView): Tile {
  const silent = runners.filter(({ phase }) => phase === 'silent').length;
  const slots = runners.reduce((sum, runner) => sum + runner.slots, 0);
  const executing = runners.reduce((sum, runner) => sum + runner.executing, 0);
  if (runners.length === 0) return { name: 'Runners', value: 'none', note: 'connected', isBad: tree.pool.waiting > 0 };
  const busy = `${countText(executing)} of ${countText(slots)} slots busy`;
  return {
    name: 'Runners',
    value: countText(runners.length),
    note: silent === 0 ? busy : `${silent} silent; ${busy}`,
    isBad: silent > 0,
  };
}

const cardsTile = ({ cards: { heldMilli, total, waiting } }: PipelineView): Tile => ({
  name: 'Cards held',
  value: cardsText(heldMilli),
  unit: ` of ${total}`,
  part: heldMilli / 1000 / total,
  note: waiting === 0 ? 'no call waits' : `${several(waiting, 'call')} waiting`,
});

const cardsText = (milli: number): string => String(Number((milli / 1000).toFixed(2)));

function failuresTile({ failures }: PipelineView): Tile {
  if (failures.length === 0) return { name: 'Failures lately', value: '0', note: 'nothing failed' };
  const link = el('a', { href: '#/failures' }, countText(failures.length));
  return { name: 'Failures lately', value: link, note: 'see what with', isBad: true };
}

/** Each card as a vessel that is filled by what is held of it. */
function cardsPart({ cards }: PipelineView): HTMLElement[] {
  if (cards.total === 0) return [];
  const drawn = cards.cards.map(({ runner, index, heldMilli }) => {
    const label = `card ${index} of ${runner}: ${cardsText(heldMilli)} held`;
    const level = styled(el('span', { class: 'level' }), { height: `${Math.min(100, heldMilli / 10)}%` });
    const share = el('span', { class: 'share' }, cardsText(heldMilli));
    const name = el('span', { class: 'quiet' }, `${runner} ${index}`);
    return el('li', { title: label, 'aria-label': label }, el('div', { class: 'card-cell' }, level, share), name);
  });
  const holders = cards.branches.filter(({ path }) => path.length === 1);
  const says = holders.map(({ path, heldMilli, waiting }) => {
    const waits = waiting === 0 ? '' : `, ${several(waiting, 'call')} waiting`;
    return el('li', {}, `${path[0]}: ${cardsText(heldMilli)} held${waits}`);
  });
  return [
    el('h3', {}, 'GPU cards'),
    el('ul', { class: 'cards' }, ...drawn),
    ...(says.length === 0 ? [] : [el('ul', { class: 'key' }, ...says)]),
    ...(cards.busyRatio === undefined
      ? []
      : [
          el(
            'p',
            { class: 'quiet small' },
            `Granted time in which a body ran: ${Math.round(cards.busyRatio * 100)} %.`,
          ),
        ]),
  ];
}

const PHASES: Readonly<Record<string, 'good' | 'warn' | 'bad'>> = { serving: 'good', draining: 'warn', silent: 'bad' };

function runnersPart({ runners }: PipelineView): HTMLElement[] {
  if (runners.length === 0) return [];
  const rows = runners.map(({ name, class: kind, phase, executing, slots }) => ({
    cells: [
      name,
      kind,
      chip(phase, PHASES[phase] ?? 'plain'),
      measured(slots === 0 ? 0 : executing / slots, `${countText(executing)} of ${countText(slots)}`),
    ],
  }));
  const columns = [
    { title: 'Runner', isText: true },
    { title: 'Class', isText: true },
    { title: 'Phase', isText: true },
    { title: 'Slots busy' },
  ];
  return [el('h3', {}, 'Runners'), table('Processes that execute runs', columns, rows)];
}
