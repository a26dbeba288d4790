// `fairlead top` as text: the tree of each Pipeline with what its branches hold and wait for.

import type { Overview, PipelineView } from '../../operator/api/index.ts';
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
  const rows = rowsOf(pipeline, options).map(({ id, cells: [name = '', ...cells] }) => [
    `${id !== undefined && id === options.chosen ? '>' : ' '} ${name}`,
    ...cells,
  ]);
  if (rows.length === 0) return `${head.join('   ')}\n  nothing is open\n`;
  return `${head.join('   ')}\n${columns(['  BRANCH', 'HELD', 'WAITING', 'EXECUTING', 'RATE', 'STALE', 'ITEMS'], rows)}`;
}

/** Of a branch, or of those that are only counted. */
interface Row {
  readonly id?: string;
  readonly cells: readonly string[];
}

/** Ids of the branches that are shown, from top to bottom. */
export function branchIds({ pipelines }: Overview, options: TopOptions): string[] {
  return pipelines.flatMap((pipeline) => rowsOf(pipeline, options).flatMap(({ id }) => id ?? []));
}

const rowsOf = (pipeline: PipelineView, options: TopOptions): Row[] =>
  sorted(pipeline.tree.pool.children, options.sort).flatMap((branch) => branchRows(pipeline, branch, 0, options));

function branchRows(pipeline: PipelineView, branch: BranchSnapshot, depth: number, options: TopOptions): Row[] {
  const id = `${pipeline.name}/${branch.number}`;
  const isClosed = branch.children.length > 0 && !options.isOpen(id);
  const source = depth === 0 ? pipeline.sources.find(({ name }) => name === branch.name) : undefined;
  const rate = source === undefined ? undefined : options.rates?.get(`${pipeline.name}/${source.name}`);
  const cells = [
    `${'  '.repeat(depth)}${branch.name}${branch.weight === 1 ? '' : ` (weight ${branch.weight})`}${isClosed ? ` +${branch.children.length}` : ''}`,
    String(branch.heldSlots),
    String(branch.waiting),
    String(branch.executing),
    rate === undefined ? '' : `${rate.toFixed(rate < 10 ? 1 : 0)}/s`,
    source === undefined ? '' : staleText(source),
    source === undefined ? '' : `${source.items.done}/${source.items.total}`,
  ];
  if (isClosed) return [{ id, cells }];
  const shown = sorted(branch.children, options.sort).slice(0, UPDATES_SHOWN);
  const hidden = branch.children.length - shown.length;
  return [
    { id, cells },
    ...shown.flatMap((child) => branchRows(pipeline, child, depth + 1, options)),
    ...(hidden > 0 ? [{ cells: [`${'  '.repeat(depth + 1)}and ${hidden} more`, '', '', '', '', '', ''] }] : []),
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
