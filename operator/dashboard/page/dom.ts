// Makes elements. Text goes in as text, never as markup, so that no name of an item can become a page.

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;
type Child = Node | string;

/** An element with attributes (`class`, `href`, `aria-label`, …; false and undefined are left out) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  set(made, attributes);
  made.append(...children);
  return made;
}

/** The same for SVG. */
export function svg(tag: string, attributes: Attributes = {}, ...children: readonly Node[]): SVGElement {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  set(made, attributes);
  made.append(...children);
  return made;
}

function set(made: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : String(value));
}

export interface Column {
  readonly title: string;
  readonly isText?: boolean;
}

/** A table with a caption, in a box that scrolls by itself on narrow screens. Cells may be nodes. */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly { readonly cells: readonly Child[]; readonly depth?: number }[],
): HTMLElement {
  const head = columns.map(({ title, isText }) => el('th', { scope: 'col', class: isText === true && 'text' }, title));
  const body = rows.map(({ cells, depth = 0 }) => {
    const made = cells.map((cell, at) => el('td', { class: columns[at]?.isText === true && 'text' }, cell));
    return el('tr', { class: depth > 0 && `deep${Math.min(3, depth)}` }, ...made);
  });
  const made = el(
    'table',
    {},
    el('caption', {}, caption),
    el('thead', {}, el('tr', {}, ...head)),
    el('tbody', {}, ...body),
  );
  return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption }, made);
}

/** Pairs of a name and a value. */
export function facts(pairs: readonly (readonly [string, string])[]): HTMLElement {
  return el(
    'dl',
    { class: 'facts' },
    ...pairs.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))),
  );
}
