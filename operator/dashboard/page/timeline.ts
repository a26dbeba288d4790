// The spans of an update on one axis of time. A span opens to what it tells: attributes, and why it failed.
import type { TraceSpan } from '../../telemetry/index.ts';
import { el, styled } from './dom.ts';
import { durationText } from './text.ts';

/** Bars drawn at the most; deeper and later ones are counted. */
const BARS_MAX = 300;
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

export function timeline(root: TraceSpan, nowMs: number): HTMLElement[] {
  const spanMs = Math.max(1, root.durationMs ?? nowMs - root.startMs);
  const flat = flatten(root, 0);
  const shown = flat.slice(0, BARS_MAX);
  const left = flat.length - shown.length;
  return [
    legend(shown.map(({ span }) => span.kind)),
    axis(spanMs),
    el('ul', { class: 'bars' }, ...shown.map(({ span, depth }) => bar(span, depth, root.startMs, spanMs))),
    ...(left > 0 ? [el('p', { class: 'quiet' }, `and ${left} more spans: fairlead trace prints them`)] : []),
  ];
}

interface Placed {
  readonly span: TraceSpan;
  readonly depth: number;
}

function flatten(span: TraceSpan, depth: number): Placed[] {
  return [{ span, depth }, ...span.children.flatMap((child) => flatten(child, depth + 1))];
}

function legend(kinds: readonly TraceSpan['kind'][]): HTMLElement {
  const items = [...new Set(kinds)].map((kind) =>
    el('li', {}, el('span', { class: `swatch kind-${kind}` }), KINDS[kind]),
  );
  return el('ul', { class: 'key' }, ...items);
}

function axis(spanMs: number): HTMLElement {
  const ticks = Array.from({ length: TICKS + 1 }, (_, at) =>
    styled(el('span', {}, durationText((spanMs * at) / TICKS)), { left: `${(at / TICKS) * 100}%` }),
  );
  return el('div', { class: 'axis', 'aria-hidden': 'true' }, el('div', { class: 'ticks' }, ...ticks));
}

function bar(span: TraceSpan, depth: number, startMs: number, spanMs: number): HTMLElement {
  const percent = (ms: number): string => `${Math.max(0, Math.min(100, (ms / spanMs) * 100))}%`;
  const drawn = styled(el('span', { class: `bar kind-${span.kind}${span.error === undefined ? '' : ' failed'}` }), {
    left: percent(span.startMs - startMs),
    width: percent(span.durationMs ?? spanMs),
  });
  const summary = el(
    'summary',
    { 'data-key': span.spanId },
    styled(nameOf(span), { 'padding-left': `${depth}rem` }),
    el('span', { class: 'track', 'aria-hidden': 'true' }, drawn),
    el('span', { class: 'took' }, span.durationMs === undefined ? 'goes on' : durationText(span.durationMs)),
  );
  const details = el('details', { open: opened.has(span.spanId) }, summary, told(span, startMs));
  details.addEventListener('toggle', () => {
    if (details.open) opened.add(span.spanId);
    else opened.delete(span.spanId);
  });
  return el('li', {}, details);
}

function nameOf({ name, attributes, error }: TraceSpan): HTMLElement {
  const what = attributes['fairlead.item.key'] ?? attributes['server.address'] ?? attributes['process.executable.name'];
  return el(
    'span',
    { class: error === undefined ? 'name' : 'name bad' },
    name,
    ...(what === undefined ? [] : [el('span', { class: 'what' }, ` ${what}`)]),
    ...(error === undefined ? [] : [` – ${error.class}`]),
  );
}

/** Everything that the span says, in words without the names' common beginning. */
function told({ attributes, error, startMs }: TraceSpan, rootStartMs: number): HTMLElement {
  const pairs: [string, string][] = [
    ['begins after', durationText(Math.max(0, startMs - rootStartMs))],
    ...(error === undefined
      ? []
      : [['failed with', [error.class, error.message].filter(Boolean).join(': ')] as [string, string]]),
    ...Object.entries(attributes).flatMap(([name, value]): [string, string][] => {
      const text = Array.isArray(value) ? value.join('; ') : String(value);
      return text === '' ? [] : [[name.replace(/^fairlead\./, '').replaceAll(/[._]/g, ' '), text]];
    }),
  ];
  return el('dl', { class: 'told' }, ...pairs.flatMap(([name, text]) => [el('dt', {}, name), el('dd', {}, text)]));
}
