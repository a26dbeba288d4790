// Makes elements. Text goes in as text, never as markup, so that no name of an item can become a page.

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;
export type Child = Node | string;

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

/** Sets properties of its style: attributes called `style` are against the page's policy. */
export function styled<T extends HTMLElement>(made: T, style: Readonly<Record<string, string>>): T {
  for (const [name, value] of Object.entries(style)) made.style.setProperty(name, value);
  return made;
}

export interface Column {
  readonly title: string;
  readonly isText?: boolean;
}

export interface Row {
  readonly cells: readonly Child[];
  readonly depth?: number;
  readonly class?: string;
}

/** A table with a caption, in a box that scrolls by itself on narrow screens. Cells may be nodes. */
export function table(caption: string, columns: readonly Column[], rows: readonly Row[]): HTMLElement {
  const head = columns.map(({ title, isText }) => el('th', { scope: 'col', class: isText === true && 'text' }, title));
  const body = rows.map(({ cells, depth = 0, class: kind = '' }) => {
    const made = cells.map((cell, at) => el('td', { class: columns[at]?.isText === true && 'text' }, cell));
    const classes = [kind, depth > 0 ? `deep${Math.min(3, depth)}` : ''].filter((name) => name !== '').join(' ');
    return el('tr', { class: classes !== '' && classes }, ...made);
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
export function facts(pairs: readonly (readonly [string, Child])[]): HTMLElement {
  return el(
    'dl',
    { class: 'facts' },
    ...pairs.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))),
  );
}

/** A bar that is filled in part; what it says stands beside it in words. */
export function meter(part: number, colour = 'var(--accent)'): HTMLElement {
  const filled = styled(el('span'), {
    width: `${Math.max(0, Math.min(1, part)) * 100}%`,
    background: colour,
  });
  return el('span', { class: 'meter', 'aria-hidden': 'true' }, filled);
}

/** A bar with its figure; figures stand below each other in a column. `isWide`: for times and pairs of numbers. */
export function measured(part: number, figure: Child, colour?: string, isWide = true): HTMLElement {
  return el('span', { class: isWide ? 'measured wide' : 'measured' }, meter(part, colour), el('span', {}, figure));
}

/** A word with a colour of its own; the colour says nothing that the word does not. */
export function chip(word: string, kind: 'good' | 'busy' | 'warn' | 'bad' | 'plain', title?: string): HTMLElement {
  return el('span', { class: `chip ${kind}`, title }, word);
}

/** What a page says where there is nothing to show, and what to do about it. */
export function nothing(what: string, ...hints: readonly Child[]): HTMLElement {
  return el('div', { class: 'nothing' }, el('p', {}, what), ...(hints.length === 0 ? [] : [el('p', {}, ...hints)]));
}
