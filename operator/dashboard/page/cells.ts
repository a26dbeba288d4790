// The pool as cells, one for each slot, and the key to their colours.
import type { PipelineView } from '../../api/index.ts';
import { colourOf, swatch } from './colours.ts';
import { el } from './dom.ts';
import { countText } from './text.ts';

/** Cells that are drawn at the most; in a larger pool one cell stands for several slots. */
const CELLS_MAX = 512;
/** Branches that the key names; the table has them all. */
const KEY_MAX = 12;
/** Few cells are drawn large. */
const SIZES: readonly (readonly [number, string])[] = [
  [24, 'large'],
  [96, 'middle'],
  [CELLS_MAX, 'small'],
];

/** One cell for each slot, the held ones first, coloured by source. */
export function cells(pipeline: PipelineView): HTMLElement {
  const { slots, pool } = pipeline.tree;
  const perCell = Math.max(1, Math.ceil(slots / CELLS_MAX));
  const held = pool.children.flatMap(({ name, heldSlots }) =>
    Array.from({ length: Math.ceil(heldSlots / perCell) }, () => name),
  );
  const total = Math.max(held.length, Math.ceil(slots / perCell));
  const all = Array.from({ length: total }, (_, at) => {
    const name = held[at];
    const cell = el('span', { class: name === undefined ? 'cell' : 'cell held', title: name ?? 'free' });
    if (name !== undefined) cell.style.background = colourOf(pipeline, name);
    return cell;
  });
  const [, size] = SIZES.find(([most]) => total <= most) ?? [0, 'small'];
  const drawn = el('div', { class: `pool ${size}`, role: 'img', 'aria-label': labelOf(pipeline, perCell) }, ...all);
  if (perCell === 1) return drawn;
  return el('div', {}, drawn, el('p', { class: 'quiet small' }, `One cell stands for ${perCell} slots.`));
}

function labelOf({ tree }: PipelineView, perCell: number): string {
  const holders = tree.pool.children.filter(({ heldSlots }) => heldSlots > 0);
  const said = holders.map(({ name, heldSlots }) => `${name} holds ${heldSlots}`).join(', ');
  const free = Math.max(0, tree.slots - tree.pool.heldSlots);
  const scale = perCell === 1 ? '' : ` One cell stands for ${perCell} slots.`;
  return `${said === '' ? 'Nothing is held' : said}; ${free} free.${scale}`;
}

export function key(pipeline: PipelineView): HTMLElement {
  const { children } = pipeline.tree.pool;
  const idle = ({ heldSlots, waiting }: (typeof children)[number]): number => (heldSlots + waiting === 0 ? 1 : 0);
  const named = [...children].sort((a, b) => idle(a) - idle(b)).slice(0, KEY_MAX);
  const items = named.map(({ name, heldSlots, waiting }) =>
    el(
      'li',
      {},
      swatch(colourOf(pipeline, name)),
      `${name}: ${countText(heldSlots)} held, ${countText(waiting)} waiting`,
    ),
  );
  const more = children.length - named.length;
  if (more > 0) items.push(el('li', { class: 'quiet' }, `and ${more} more in the table`));
  const free = Math.max(0, pipeline.tree.slots - pipeline.tree.pool.heldSlots);
  items.push(el('li', { class: 'quiet' }, swatch('var(--free)'), `${countText(free)} free`));
  return el('ul', { class: 'key' }, ...items);
}
