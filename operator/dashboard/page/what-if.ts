// The what-if page: a large re-index and a small refresh under the six rules, replayed by the operator on a virtual clock.
import { post } from './api.ts';
import { swatch } from './colours.ts';
import { el, measured, table } from './dom.ts';
import { playable } from './player.ts';

interface Slider {
  readonly name: string;
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly value: number;
  readonly unit: string;
}

const SLIDERS: readonly Slider[] = [
  { name: 'slots', label: 'Slots', min: 2, max: 64, value: 8, unit: '' },
  { name: 'bigTasks', label: 'Tasks of the re-index', min: 10, max: 2000, value: 400, unit: '' },
  { name: 'bigMs', label: 'Each of them takes', min: 1, max: 200, value: 10, unit: ' ms' },
  { name: 'smallAt', label: 'The refresh arrives after', min: 0, max: 2000, value: 5, unit: ' ms' },
  { name: 'smallTasks', label: 'Tasks of the refresh', min: 1, max: 400, value: 40, unit: '' },
  { name: 'smallMs', label: 'Each of these takes', min: 1, max: 200, value: 10, unit: ' ms' },
];

interface Figures {
  readonly name: string;
  readonly tookMs: number;
  readonly aloneMs: number;
  readonly othersDone: Record<string, number>;
}

interface Answer {
  readonly lines: readonly { readonly title: string; readonly updates: readonly Figures[]; readonly picture: string }[];
  /** When the last update under the slowest rule is done. */
  readonly endMs: number;
}

const PAUSE_MS = 120;
/** What the operator ships with. */
const OURS = 'fewest held first';

export function whatIfPage(): HTMLElement[] {
  const values = new Map(SLIDERS.map(({ name, value }) => [name, value]));
  const result = el('div', { id: 'what-if', 'aria-live': 'polite' });
  let timer = 0;
  let turn = 0;
  const show = async () => {
    const mine = ++turn;
    const answer = await post<Answer>('/api/v1/simulate', workloadOf(values)).catch((error: Error) => error);
    if (mine !== turn) return; // the sliders moved on
    result.replaceChildren(
      ...(answer instanceof Error ? [el('p', { class: 'message' }, answer.message)] : shown(answer)),
    );
  };
  const moved = (name: string, value: number) => {
    values.set(name, value);
    clearTimeout(timer);
    timer = window.setTimeout(() => void show(), PAUSE_MS);
  };
  void show();
  return [
    el(
      'section',
      {},
      el('h1', {}, 'What if'),
      el(
        'p',
        { class: 'lead' },
        'One pool, a large re-index, and a small refresh that arrives while it runs. Move a slider and see what each of six rules would do with them.',
      ),
      el('div', { class: 'sliders' }, ...SLIDERS.map((slider) => sliderOf(slider, moved))),
      result,
    ),
  ];
}

function sliderOf(
  { name, label, min, max, value, unit }: Slider,
  moved: (name: string, value: number) => void,
): HTMLElement {
  const input = el('input', { type: 'range', id: name, min, max, value, 'aria-valuetext': `${value}${unit}` });
  const output = el('output', { for: name }, `${value}${unit}`);
  input.addEventListener('input', () => {
    output.textContent = `${input.value}${unit}`;
    input.setAttribute('aria-valuetext', `${input.value}${unit}`);
    moved(name, input.valueAsNumber);
  });
  return el('div', { class: 'slider' }, el('label', { for: name }, label), output, input);
}

function workloadOf(values: ReadonlyMap<string, number>): object {
  const of = (name: string): number => values.get(name) ?? 0;
  const slots = of('slots');
  const half = Math.max(1, Math.floor(slots / 2));
  return {
    slots,
    shares: { 're-index': slots - half, refresh: half },
    updates: [
      { name: 're-index', tasks: of('bigTasks'), each: `${of('bigMs')}ms` },
      { name: 'refresh', at: `${of('smallAt')}ms`, tasks: of('smallTasks'), each: `${of('smallMs')}ms` },
    ],
  };
}

function shown({ lines, endMs }: Answer): HTMLElement[] {
  const figures = lines.flatMap(({ title, updates: [big, small] }) =>
    big === undefined || small === undefined ? [] : [{ title, big, small }],
  );
  const longest = (of: (line: (typeof figures)[number]) => number): number => Math.max(1, ...figures.map(of));
  const longestSmall = longest(({ small }) => small.tookMs);
  const longestBig = longest(({ big }) => big.tookMs);
  const rows = figures.map(({ title, big, small }) => ({
    class: title === OURS ? 'ours' : '',
    cells: [
      title,
      timeCell(small.tookMs, longestSmall, 'var(--picture1)'),
      `${small.aloneMs} ms`,
      String(small.othersDone['re-index'] ?? 0),
      timeCell(big.tookMs, longestBig, 'var(--picture0)'),
      `${big.aloneMs} ms`,
    ],
  }));
  const columns = [
    { title: 'Rule', isText: true },
    { title: 'Refresh took' },
    { title: 'alone' },
    { title: 'Re-index tasks done by then' },
    { title: 'Re-index took' },
    { title: 'alone' },
  ];
  return [
    table(
      'What each rule would do; “alone” is with the pool to itself. The operator serves fewest held first.',
      columns,
      rows,
    ),
    el('h2', {}, 'Who holds each slot over time'),
    el(
      'ul',
      { class: 'key' },
      el('li', {}, swatch('var(--picture0)'), 're-index'),
      el('li', {}, swatch('var(--picture1)'), 'refresh'),
      el('li', { class: 'quiet' }, 'one row for each slot; small arrows show when each arrives'),
    ),
    playable(
      lines.map(({ title, picture }) => ({ title, svg: picture })),
      endMs,
    ),
  ];
}

const timeCell = (ms: number, longestMs: number, colour: string): HTMLElement =>
  measured(ms / longestMs, `${ms} ms`, colour);
