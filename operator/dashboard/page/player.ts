// Pictures of who held each slot over time, to be played together: a curtain moves over each of them from left to right.
import { el, styled } from './dom.ts';
import { durationText } from './text.ts';

export interface Picture {
  readonly title: string;
  /** With a theme for each colour scheme of the system. */
  readonly svg: string;
}

/** Margins of the plot, and the width of the pictures: what cli/simulate/picture.ts draws, and cli/remote/what-if.ts asks for. */
const PLOT = { margin: 24, width: 600 };
const PLAY_MS = 6_000;

const isStill = (): boolean => matchMedia('(prefers-reduced-motion: reduce)').matches;
const isDark = (): boolean => document.documentElement.dataset.theme === 'dark';

/** Where the player stands, from 0 to 1: it stays when a slider changes the pictures. */
let place = 1;

/** Pictures that share one scale of time, which ends at `endMs`. */
export function playable(pictures: readonly Picture[], endMs: number): HTMLElement {
  const stages = pictures.map((picture) => stageOf(picture));
  const slider = el('input', { type: 'range', id: 'moment', min: 0, max: 1000 });
  const output = el('output', { for: 'moment' });
  const button = el('button', { type: 'button' }, 'Play');
  const figure = el(
    'figure',
    {},
    el('div', { class: 'player' }, button, el('label', { for: 'moment' }, 'Moment'), slider, output),
    el('div', { class: 'stages' }, ...stages),
  );
  const show = () => {
    const seen = (PLOT.margin + (PLOT.width - 2 * PLOT.margin) * place) / PLOT.width;
    styled(figure, { '--seen': `${seen * 100}%`, '--curtain': place >= 1 ? 'hidden' : 'visible' });
    slider.value = String(Math.round(place * 1000));
    output.textContent = durationText(endMs * place);
    slider.setAttribute('aria-valuetext', durationText(endMs * place));
  };
  slider.addEventListener('input', () => {
    place = slider.valueAsNumber / 1000;
    show();
  });
  button.addEventListener('click', () => play(figure, show));
  show();
  return figure;
}

function stageOf({ title, svg }: Picture): HTMLElement {
  const image = el('img', {
    class: 'picture',
    alt: `${title}: one row for each slot, coloured by who holds it. The table above has the figures.`,
  });
  const draw = () => {
    image.src = `data:image/svg+xml,${encodeURIComponent(inTheme(svg))}`;
  };
  addEventListener('themechange', draw);
  draw();
  return el('div', { class: 'stage' }, image, el('div', { class: 'curtain', 'aria-hidden': 'true' }));
}

/** From the beginning to the end; a reader who wants no motion sees the end at once. */
function play(figure: HTMLElement, show: () => void): void {
  const beganMs = performance.now();
  const step = (nowMs: number) => {
    place = isStill() ? 1 : Math.min(1, Math.max(0, (nowMs - beganMs) / PLAY_MS));
    show();
    if (place < 1 && figure.isConnected) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

/** A picture follows the system's scheme; here it follows the one of the page. */
const inTheme = (svg: string): string =>
  svg.replace('@media (prefers-color-scheme:dark)', isDark() ? '@media all' : '@media not all');
