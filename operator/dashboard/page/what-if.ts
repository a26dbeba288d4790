// The what-if page: a large re-index and a small refresh under the six rules, replayed by the operator on a virtual clock.
import { post } from './api.ts';
import { el, table } from './dom.ts';

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
  { name: 'bigMs', label: 'One task of the re-index takes', min: 1, max: 200, value: 10, unit: ' ms' },
  { name: 'smallTasks', label: 'Tasks of the refresh', min: 1, max: 400, value: 40, unit: '' },
  { name: 'smallMs', label: 'One task of the refresh takes', min: 1, max: 200, value: 10, unit: ' ms' },
  { name: 'smallAt', label: 'The refresh arrives after', min: 0, max: 2000, value: 5, unit: ' ms' },
];

interface Answer {
  readonly lines: readonly {
    readonly title: string;
    readonly updates: readonly {
      readonly name: string;
      readonly tookMs: number;
      readonly aloneMs: number;
      readonly othersDone: Record<string, number>;
    }[];
  }[];
  readonly picture: string;
}

const PAUSE_MS = 120;

export function whatIfPage(): HTMLElement[] {
  const values = new Map(SLIDERS.map(({ name, value }) => [name, value]));
  const result = el('div', { id: 'what-if', 'aria-live': 'polite' });
  let timer = 0;
  let turn = 0;
  const show = async () => {
    const mine = ++turn;
    const answer = await post<Answer>('/api/v1/simulate', workloadOf(values)).catch((error: Error) => error);
    if (mine !== turn) return; // the sliders moved on
    result.replaceChildren(...(answer instanceof Error ? [el('p', { class: 'bad' }, answer.message)] : shown(answer)));
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
        {},
        'One pool, a large re-index and a small refresh that arrives while it runs. Move a slider and see what each rule would do.',
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
  const input = el('input', { type: 'range', id: name, min, max, value });
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

function shown({ lines, picture }: Answer): HTMLElement[] {
  const rows = lines.map(({ title, updates }) => {
    const [big, small] = updates;
    return {
      cells: [
        title,
        `${small?.tookMs ?? 0} ms`,
        `${small?.aloneMs ?? 0} ms`,
        String(small?.othersDone['re-index'] ?? 0),
        `${big?.tookMs ?? 0} ms`,
        `${big?.aloneMs ?? 0} ms`,
      ],
    };
  });
  const columns = [
    { title: 'Rule', isText: true },
    { title: 'Refresh took' },
    { title: 'alone' },
    { title: 'Re-index tasks done by then' },
    { title: 'Re-index took' },
    { title: 'alone' },
  ];
  const source = `data:image/svg+xml,${encodeURIComponent(picture)}`;
  return [
    table('What each rule would do', columns, rows),
    el('h2', {}, 'Who holds each slot over time'),
    el('img', {
      class: 'picture',
      src: source,
      alt: 'For each rule a panel: one row for each slot, coloured by who holds it. The table above has the figures.',
    }),
  ];
}
