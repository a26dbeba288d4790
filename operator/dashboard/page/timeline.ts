// The spans of an update on one axis of time. A row opens to what its span tells; the parts of a run stand below it where they are few, and else
// show when it is opened.
import type { TraceSpan } from '../../telemetry/index.ts';
import { el, styled } from './dom.ts';
import { durationText, several } from './text.ts';

/** Rows of one level, and rows in all that may stand open by themselves. */
const SIBLINGS_MAX = 200;
const OPEN_MAX = 48;
const TICKS = 4;

const KINDS: Readonly<Record<TraceSpan['kind'], string>> = {
  update: 'update',
  trigger: 'trigger',
  wait: 'waits for a slot',
  run: 'run',
  list: 'lists',
  read: 'reads',
  step: 'step',
  card: 'card',
  call: 'call to something outside',
  commit: 'commits',
};

/** Spans that the reader has opened, by id: they stay open when the page is drawn anew. */
const opened = new Set<string>();

/** The axis of an update, and whether the parts of all its runs may show at once. */
interface Axis {
  readonly startMs: number;
  readonly spanMs: number;
  readonly isRoomy: boolean;
}

export function timeline(root: TraceSpan, nowMs: number): HTMLElement[] {
  const all = flat(root);
  const axis = {
    startMs: root.startMs,
    spanMs: Math.max(1, root.durationMs ?? nowMs - root.startMs),
    isRoomy: all.length <= OPEN_MAX,
  };
  const kinds = all.flatMap(({ kind, wait }) => (wait === undefined ? [kind] : ['wait' as const, kind]));
  return [legend(kinds), ticks(axis.spanMs), el('ul', { class: 'bars' }, row(root, 0, axis))];
}

const flat = (span: TraceSpan): TraceSpan[] => [span, ...span.children.flatMap(flat)];

function legend(kinds: readonly TraceSpan['kind'][]): HTMLElement {
  const items = [...new Set(kinds)].map((kind) =>
    el('li', {}, el('span', { class: `swatch kind-${kind}` }), KINDS[kind]),
  );
  return el('ul', { class: 'key' }, ...items);
}

function ticks(spanMs: number): HTMLElement {
  const marks = Array.from({ length: TICKS + 1 }, (_, at) =>
    styled(el('span', {}, durationText((spanMs * at) / TICKS)), { left: `${(at / TICKS) * 100}%` }),
  );
  return el('div', { class: 'axis', 'aria-hidden': 'true' }, el('div', { class: 'ticks' }, ...marks));
}

/** A span with what is below it: outside of what opens where that leads to further runs, inside where it is the parts of one. */
function row(span: TraceSpan, depth: number, axis: Axis): HTMLElement {
  const { spanId, children } = span;
  const below = children.length === 0 ? [] : [rows(children, depth + 1, axis)];
  const isInside = !axis.isRoomy && span.kind === 'run' && !children.some(({ kind }) => kind === 'run');
  const details = el(
    'details',
    { open: opened.has(spanId) },
    summaryOf(span, depth, axis, isInside ? children.length : 0),
    told(span, axis.startMs),
    ...(isInside ? below : []),
  );
  details.addEventListener('toggle', () => {
    if (details.open) opened.add(spanId);
    else opened.delete(spanId);
  });
  return el('li', {}, details, ...(isInside ? [] : below));
}

function rows(spans: readonly TraceSpan[], depth: number, axis: Axis): HTMLElement {
  const shown = spans.slice(0, SIBLINGS_MAX).map((span) => row(span, depth, axis));
  const hidden = spans.length - shown.length;
  const rest = el('li', { class: 'quiet' }, `and ${several(hidden, 'more span')}: fairlead trace prints them`);
  return el('ul', {}, ...shown, ...(hidden > 0 ? [rest] : []));
}

function summaryOf(span: TraceSpan, depth: number, axis: Axis, hidden: number): HTMLElement {
  const { wait, startMs, durationMs, kind, error, spanId } = span;
  const bars = [
    ...(wait === undefined ? [] : [bar(axis, wait.startMs, startMs - wait.startMs, 'kind-wait waited')]),
    bar(axis, startMs, durationMs ?? axis.spanMs, `kind-${kind}${error === undefined ? '' : ' failed'}`),
  ];
  return el(
    'summary',
    { 'data-key': spanId },
    styled(nameOf(span, hidden), { 'padding-left': `${depth}rem` }),
    el('span', { class: 'track', 'aria-hidden': 'true' }, ...bars),
    el('span', { class: 'took' }, durationMs === undefined ? 'goes on' : durationText(durationMs)),
  );
}

function bar({ startMs, spanMs }: Axis, fromMs: number, lengthMs: number, kind: string): HTMLElement {
  const percent = (ms: number): string => `${Math.max(0, Math.min(100, (ms / spanMs) * 100))}%`;
  return styled(el('span', { class: `bar ${kind}` }), { left: percent(fromMs - startMs), width: percent(lengthMs) });
}

function nameOf({ name, attributes, error }: TraceSpan, hidden: number): HTMLElement {
  const what = attributes['fairlead.item.key'] ?? attributes['server.address'] ?? attributes['process.executable.name'];
  return el(
    'span',
    { class: error === undefined ? 'name' : 'name bad' },
    name,
    ...(what === undefined ? [] : [el('span', { class: 'what' }, ` ${what}`)]),
    ...(error === undefined ? [] : [` – ${error.class}`]),
    ...(hidden === 0 ? [] : [el('span', { class: 'what' }, ` + ${several(hidden, 'part')}`)]),
  );
}

/** Everything that the span says, in words without the names' common beginning. */
function told({ attributes, error, startMs, wait }: TraceSpan, rootMs: number): HTMLElement {
  const pairs: (readonly [string, string])[] = [
    ['begins after', durationText(Math.max(0, startMs - rootMs))],
    ...(wait?.durationMs === undefined ? [] : [['waited', durationText(wait.durationMs)] as const]),
    ...(error === undefined ? [] : [['failed with', [error.class, error.message].filter(Boolean).join(': ')] as const]),
    ...Object.entries({ ...attributes, ...wait?.attributes }).flatMap(([name, value]) => worded(name, value)),
  ];
  return el('dl', { class: 'told' }, ...pairs.flatMap(([name, text]) => [el('dt', {}, name), el('dd', {}, text)]));
}

/** Waits are told in words of their own. */
const LEFT_OUT: readonly string[] = ['fairlead.queue.wait', 'fairlead.wait.is_whole'];

function worded(name: string, value: TraceSpan['attributes'][string]): (readonly [string, string])[] {
  const text = Array.isArray(value) ? value.join('; ') : String(value);
  if (text === '' || LEFT_OUT.includes(name)) return [];
  return [[name.replace(/^fairlead\./, '').replaceAll(/[._]/g, ' '), text]];
}
