// `fairlead top` as text: the tree of each Pipeline with what its branches hold and wait for.

import type { Overview, PipelineView, SourceView } from '../../operator/api/index.ts';
import type { BranchSnapshot } from '../../operator/inspection/index.ts';
import { staleText } from './status-text.ts';
import { columns } from './text.ts';

export type SortKey = 'opened' | 'held' | 'waiting' | 'name';
export const SORT_KEYS: readonly SortKey[] = ['opened', 'held', 'waiting', 'name'];

export interface TopOptions {
  readonly sort: SortKey;
  /** Whether what is below a branch is shown. */
  readonly isOpen: (id: string) => boolean;
  /** Branch that is marked. */
  readonly chosen?: string;
  /** Components that ended per second since the picture before, by Pipeline and source; absent for the first one. */
  readonly rates?: ReadonlyMap<string, number>;
}

/** Updates shown below one source; the rest is counted. */
const UPDATES_SHOWN = 10;
const BAR_WIDTH = 32;

export function topText({ pipelines }: Overview, options: TopOptions): string {
  if (pipelines.length === 0) return 'no Pipeline is served\n';
  return pipelines.map((pipeline) => pipelineText(pipeline, options)).join('\n');
}

function pipelineText(pipeline: PipelineView, options: TopOptions): string {
  const { name, tree, runners, cards, isSuspended } = pipeline;
  const { heldSlots, waiting } = tree.pool;
  const slots = runners.reduce((sum, runner) => sum + runner.slots, 0);
  const executing = runners.reduce((sum, runner) => sum + runner.executing, 0);
  const head = [
    `${name}${isSuspended ? ' (suspended)' : ''}`,
    `slots ${gauge(heldSlots, tree.slots)} ${heldSlots}/${tree.slots}`,
    `${waiting} waiting`,
    ...(cards.total === 0 ? [] : [`cards ${cards.heldMilli / 1000}/${cards.total}, ${cards.waiting} waiting`]),
    runners.length === 0
      ? 'no runner'
      : `${runners.length} ${runners.length === 1 ? 'runner' : 'runners'}, ${executing}/${slots} busy`,
  ];
  const rows = rowsOf(pipeline, options);
  if (rows.length === 0) return `${head.join('   ')}\n  nothing is open\n`;
  const shown = COLUMNS.filter(({ isOfCards }) => isOfCards !== true || cards.total > 0);
  const cells = rows.map((row) =>
    'branch' in row
      ? shown.map(({ cellOf }) => cellOf(row, pipeline, options))
      : [moreOf(row), ...shown.slice(1).map(() => '')],
  );
  return `${head.join('   ')}\n${columns(
    shown.map(({ title }) => title),
    cells,
  )}`;
}

/** A branch with what it is in its Pipeline, or how many more there are. */
type Row = BranchRow | MoreRow;

interface MoreRow {
  readonly depth: number;
  readonly more: number;
}

interface BranchRow {
  readonly id: string;
  readonly branch: BranchSnapshot;
  readonly depth: number;
  /** Names from the outermost source to it. */
  readonly path: readonly string[];
  readonly isClosed: boolean;
  readonly source: SourceView | undefined;
}

interface Column {
  readonly title: string;
  /** Shown where there are cards only. */
  readonly isOfCards?: true;
  readonly cellOf: (row: BranchRow, pipeline: PipelineView, options: TopOptions) => string;
}

const COLUMNS: readonly Column[] = [
  { title: '  BRANCH', cellOf: nameOf },
  { title: 'HELD', cellOf: ({ branch }) => String(branch.heldSlots) },
  { title: 'WAITING', cellOf: ({ branch }) => String(branch.waiting) },
  { title: 'EXECUTING', cellOf: ({ branch }) => String(branch.executing) },
  { title: 'CARDS', isOfCards: true, cellOf: (row, of) => String((cardsOf(row, of)?.heldMilli ?? 0) / 1000) },
  { title: 'CALLS WAIT', isOfCards: true, cellOf: (row, of) => String(cardsOf(row, of)?.waiting ?? 0) },
  { title: 'RATE', cellOf: rateOf },
  { title: 'STALE', cellOf: ({ source }) => (source === undefined ? '' : staleText(source)) },
  {
    title: 'ITEMS',
    cellOf: ({ source }) => (source === undefined ? '' : `${source.items.done}/${source.items.total}`),
  },
];

const moreOf = ({ depth, more }: MoreRow): string => `  ${indented(depth, `and ${more} more`)}`;

const indented = (depth: number, text: string): string => `${'  '.repeat(depth)}${text}`;

function nameOf({ id, branch, depth, isClosed }: BranchRow, _: PipelineView, { chosen }: TopOptions): string {
  const weight = branch.weight === 1 ? '' : ` (weight ${branch.weight})`;
  const closed = isClosed ? ` +${branch.children.length}` : '';
  return `${id === chosen ? '>' : ' '} ${indented(depth, branch.name)}${weight}${closed}`;
}

function rateOf({ source }: BranchRow, { name }: PipelineView, { rates }: TopOptions): string {
  const rate = source === undefined ? undefined : rates?.get(`${name}/${source.name}`);
  return rate === undefined ? '' : `${rate.toFixed(rate < 10 ? 1 : 0)}/s`;
}

const cardsOf = ({ path }: BranchRow, { cards }: PipelineView) =>
  cards.branches.find(
    (branch) => branch.path.length === path.length && branch.path.every((name, at) => name === path[at]),
  );

/** Ids of the branches that are shown, from top to bottom. */
export function branchIds({ pipelines }: Overview, options: TopOptions): string[] {
  return pipelines.flatMap((pipeline) => rowsOf(pipeline, options).flatMap((row) => ('id' in row ? row.id : [])));
}

const rowsOf = (pipeline: PipelineView, options: TopOptions): Row[] =>
  sorted(pipeline.tree.pool.children, options.sort).flatMap((branch) => branchRows(pipeline, branch, [], options));

function branchRows(
  pipeline: PipelineView,
  branch: BranchSnapshot,
  above: readonly string[],
  options: TopOptions,
): Row[] {
  const id = `${pipeline.name}/${branch.number}`;
  const depth = above.length;
  const path = [...above, branch.name];
  const isClosed = branch.children.length > 0 && !options.isOpen(id);
  const source = depth === 0 ? pipeline.sources.find(({ name }) => name === branch.name) : undefined;
  const row = { id, branch, depth, path, isClosed, source };
  if (isClosed) return [row];
  const shown = sorted(branch.children, options.sort).slice(0, UPDATES_SHOWN);
  const more = branch.children.length - shown.length;
  return [
    row,
    ...shown.flatMap((child) => branchRows(pipeline, child, path, options)),
    ...(more > 0 ? [{ depth: depth + 1, more }] : []),
  ];
}

function sorted(branches: readonly BranchSnapshot[], by: SortKey): BranchSnapshot[] {
  const all = [...branches];
  if (by === 'held') return all.sort((a, b) => b.heldSlots - a.heldSlots || a.number - b.number);
  if (by === 'waiting') return all.sort((a, b) => b.waiting - a.waiting || a.number - b.number);
  if (by === 'name') return all.sort((a, b) => (a.name < b.name ? -1 : 1));
  return all.sort((a, b) => a.number - b.number);
}

function gauge(held: number, slots: number): string {
  const filled = slots === 0 ? 0 : Math.min(BAR_WIDTH, Math.round((held / slots) * BAR_WIDTH));
  return `[${'|'.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}]`;
}

/** Items done per second between two pictures. */
export function ratesBetween(before: Overview, now: Overview): Map<string, number> {
  const seconds = (now.atMs - before.atMs) / 1000;
  const rates = new Map<string, number>();
  if (seconds <= 0) return rates;
  for (const { name, sources } of now.pipelines) {
    const earlier = before.pipelines.find((one) => one.name === name);
    for (const source of sources) {
      const known = earlier?.sources.find((one) => one.name === source.name);
      if (known !== undefined)
        rates.set(`${name}/${source.name}`, Math.max(0, source.items.done - known.items.done) / seconds);
    }
  }
  return rates;
}
