// The dashboard: one picture of the operator that follows its stream of events, shown as one of four pages by the address's hash.
import type { FreshnessPoint, Overview, Why } from '../../api/index.ts';
import { get, keepToken, pipelinePath, TokenWanted } from './api.ts';
import { el } from './dom.ts';
import { failuresPage } from './failures.ts';
import { Link } from './link.ts';
import { poolPage } from './pool.ts';
import type { Freshness } from './sparkline.ts';
import { followTheme } from './theme.ts';
import { type UpdateAnswer, updatePage } from './update.ts';
import { updatesPage } from './updates.ts';
import { whatIfPage } from './what-if.ts';

const FRESHNESS_EVERY_MS = 10_000;
/** Sources whose lines are fetched; the table shows the others without one. */
const LINES_MAX = 50;

const main = document.querySelector('main')!;
const link = new Link(document.querySelector<HTMLElement>('#link')!, document.querySelector<HTMLElement>('#banner')!);

let overview: Overview | undefined;
let freshness: Freshness = new Map();
/** Page that the content was made for: when it changes, the content is new and gets the focus. */
let shownHash: string | undefined;
/** What an update's page was drawn from: while that is the same, it is not drawn again. */
let drawnFrom = '';

const pageOf = (hash: string): string => hash.replace(/^#\/?/, '').split('/')[0] || 'pool';

async function show(): Promise<void> {
  const { hash } = location;
  const page = pageOf(hash);
  const isNew = hash !== shownHash;
  if (!isNew && page === 'what-if') return; // it follows its sliders, not the stream
  if (isNew) drawnFrom = '';
  const content = await contentOf(page, hash);
  if (hash !== location.hash || content === undefined) return;
  shownHash = hash;
  keepFocus(() => main.replaceChildren(...content));
  if (isNew) mark(page);
}

async function contentOf(page: string, hash: string): Promise<HTMLElement[] | undefined> {
  if (page === 'what-if') return whatIfPage();
  if (overview === undefined) return undefined;
  if (page === 'failures') return failuresPage(overview);
  if (page !== 'updates') return poolPage(overview, freshness);
  const [, pipeline, name] = hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
  return pipeline === undefined || name === undefined
    ? updatesPage(overview)
    : oneUpdate(pipeline, name, overview.atMs);
}

async function oneUpdate(pipeline: string, name: string, nowMs: number): Promise<HTMLElement[] | undefined> {
  try {
    const [answer, why] = await Promise.all([
      get<UpdateAnswer>(pipelinePath(pipeline, `updates/${encodeURIComponent(name)}`)),
      get<Why>(pipelinePath(pipeline, `why?subject=${encodeURIComponent(name)}`)),
    ]);
    const from = JSON.stringify([answer, why]);
    if (from === drawnFrom && answer.update?.result !== 'Running') return undefined;
    drawnFrom = from;
    return updatePage(name, answer, why, nowMs);
  } catch (error) {
    const back = el('a', { href: '#/updates' }, 'All updates');
    return [el('section', {}, el('h1', {}, `Update ${name}`), el('p', {}, (error as Error).message), back)];
  }
}

/** A redraw must not take the focus from who reads with the keyboard: it goes to the same link, span or region again. */
function keepFocus(redraw: () => void): void {
  const active = document.activeElement;
  const selector = selectorOf(active);
  const scroll = active?.scrollLeft ?? 0;
  redraw();
  const again = selector === undefined ? null : main.querySelector<HTMLElement>(selector);
  if (again === null) return;
  again.focus({ preventScroll: true });
  again.scrollLeft = scroll;
}

function selectorOf(active: Element | null): string | undefined {
  if (active === null) return undefined;
  const quoted = (name: string): string => CSS.escape(active.getAttribute(name) ?? '');
  if (active instanceof HTMLAnchorElement) return `a[href="${quoted('href')}"]`;
  if (active.hasAttribute('data-key')) return `[data-key="${quoted('data-key')}"]`;
  return active.getAttribute('role') === 'region' ? `[role="region"][aria-label="${quoted('aria-label')}"]` : undefined;
}

function mark(page: string): void {
  for (const anchor of document.querySelectorAll<HTMLAnchorElement>('nav a'))
    if (anchor.dataset.page === page) anchor.setAttribute('aria-current', 'page');
    else anchor.removeAttribute('aria-current');
  document.title = `${document.querySelector('nav a[aria-current]')?.textContent ?? 'Fairlead'} · Fairlead`;
}

async function refreshLines(): Promise<void> {
  const names = (overview?.pipelines ?? []).flatMap((pipeline) =>
    pipeline.sources.map(({ name }) => ({ pipeline, name })),
  );
  const lines = await Promise.all(
    names.slice(0, LINES_MAX).map(async ({ pipeline, name }) => {
      const path = pipelinePath(pipeline.name, `freshness?source=${encodeURIComponent(name)}`);
      const { points } = await get<{ points: FreshnessPoint[] }>(path);
      return [`${pipeline.name}/${name}`, points] as const;
    }),
  );
  freshness = new Map(lines);
  if (pageOf(location.hash) === 'pool') void show();
}

function askForToken(why: string): void {
  const field = el('input', { type: 'password', name: 'token', autocomplete: 'off', id: 'token', required: true });
  const form = el('form', {}, el('label', { for: 'token' }, 'Token '), field, ' ', el('button', {}, 'Open'));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    keepToken(field.value);
    void start();
  });
  main.replaceChildren(el('section', {}, el('h1', {}, 'This operator asks for its token'), el('p', {}, why), form));
  field.focus();
}

async function start(): Promise<void> {
  try {
    overview = await get<Overview>('/api/v1/overview');
    link.found();
  } catch (error) {
    if (error instanceof TokenWanted) return askForToken(error.message);
    link.lost();
  }
  await show();
  link.follow((picture) => {
    overview = picture;
    void show();
  });
  const lines = () => void refreshLines().catch(() => {}); // the next turn asks again
  lines();
  setInterval(lines, FRESHNESS_EVERY_MS);
}

addEventListener('hashchange', () => {
  void show();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
followTheme(document.querySelector<HTMLButtonElement>('#theme')!);
void start();
