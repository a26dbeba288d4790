// Updates: the list, and one of them as a timeline of waits, runs and steps, with why it waits.
import type { Overview, PipelineView, Why } from '../../api/index.ts';
import type { TraceSpan, TraceTree } from '../../telemetry/index.ts';
import { el, facts, table } from './dom.ts';
import { agoText, countsText, durationText } from './text.ts';

type Update = PipelineView['updates'][number];

export interface UpdateAnswer {
  readonly update?: Update;
  readonly trace?: TraceTree;
}

export function updatesPage({ pipelines, atMs }: Overview): HTMLElement[] {
  const all = pipelines
    .flatMap((pipeline) => pipeline.updates.map((update) => ({ pipeline, update })))
    .sort((a, b) => b.update.startedAtMs - a.update.startedAtMs);
  const rows = all.map(({ pipeline, update }) => ({
    cells: [
      el(
        'a',
        { href: `#/updates/${encodeURIComponent(pipeline.name)}/${encodeURIComponent(update.name)}` },
        update.name,
      ),
      pipeline.name,
      update.source ?? '–',
      `${update.kind}, by ${update.trigger}`,
      el('span', { class: isBad(update) && 'bad' }, update.result),
      countsText(update.counts),
      durationText((update.endedAtMs ?? atMs) - update.startedAtMs),
      agoText(update.startedAtMs, atMs),
    ],
  }));
  const columns = [
    { title: 'Update', isText: true },
    { title: 'Pipeline', isText: true },
    { title: 'Source', isText: true },
    { title: 'What', isText: true },
    { title: 'Result', isText: true },
    { title: 'Items', isText: true },
    { title: 'Took' },
    { title: 'Started' },
  ];
  return [
    el(
      'section',
      {},
      el('h1', {}, 'Updates'),
      table('Those that run, and the last ones that did something', columns, rows),
    ),
  ];
}

const isBad = ({ result }: Update): boolean => result === 'Failed' || result === 'CompletedWithErrors';

export function updatePage(name: string, { update, trace }: UpdateAnswer, why: Why, nowMs: number): HTMLElement[] {
  return [
    el('section', {}, el('h1', {}, `Update ${name}`), ...updateFacts(update, nowMs), ...whySays(why)),
    el('section', {}, el('h2', {}, 'Timeline'), ...timeline(trace, nowMs)),
  ];
}

function updateFacts(update: Update | undefined, nowMs: number): HTMLElement[] {
  if (update === undefined) return [];
  const { result, counts, startedAtMs, endedAtMs, message, source, kind, trigger } = update;
  return [
    facts([
      ['Source', source ?? 'the Pipeline itself'],
      ['What', `${kind}, by ${trigger}`],
      ['Result', result],
      ['Items', countsText(counts)],
      ['Took', durationText((endedAtMs ?? nowMs) - startedAtMs)],
    ]),
    ...(message === undefined ? [] : [el('p', { class: 'bad' }, message)]),
  ];
}

const RUNS_SHOWN = 5;

function whySays({ runs, says }: Why): HTMLElement[] {
  const sentences = [
    ...says,
    ...runs.slice(0, RUNS_SHOWN).flatMap(({ run, says }) => says.map((sentence) => `${run.path}: ${sentence}`)),
  ];
  if (sentences.length === 0) return [];
  return [el('h2', {}, 'Why'), el('ul', {}, ...sentences.map((sentence) => el('li', {}, sentence)))];
}

/** Bars drawn at the most; deeper and later ones are counted. */
const BARS_MAX = 300;

function timeline(trace: UpdateAnswer['trace'], nowMs: number): HTMLElement[] {
  if (trace === undefined)
    return [
      el(
        'p',
        { class: 'quiet' },
        'No spans of this update are kept. Those of recent updates are, while traces are on.',
      ),
    ];
  const { root, runs, traceId } = trace;
  const spanMs = Math.max(1, root.durationMs ?? nowMs - root.startMs);
  const flat = flatten(root, 0);
  const bars = flat.slice(0, BARS_MAX).map(({ span, depth }) => bar(span, depth, root.startMs, spanMs));
  const left = flat.length - bars.length;
  return [
    facts([
      ['Trace', traceId],
      ['Runs', `${runs.total}, ${runs.kept} of them shown`],
    ]),
    el('ul', { class: 'bars' }, ...bars),
    ...(left > 0 ? [el('p', { class: 'quiet' }, `and ${left} more spans`)] : []),
  ];
}

function flatten(span: TraceSpan, depth: number): { readonly span: TraceSpan; readonly depth: number }[] {
  return [{ span, depth }, ...span.children.flatMap((child) => flatten(child, depth + 1))];
}

const keyOf = ({ attributes }: TraceSpan): string[] => {
  const key = attributes['fairlead.item.key'];
  return key === undefined ? [] : [` ${key}`];
};

function bar(span: TraceSpan, depth: number, startMs: number, spanMs: number): HTMLElement {
  const percent = (ms: number) => `${Math.max(0, Math.min(100, (ms / spanMs) * 100))}%`;
  const took = span.durationMs === undefined ? 'runs' : durationText(span.durationMs);
  const drawn = el('span', { class: `bar kind-${span.kind}` });
  drawn.style.left = percent(span.startMs - startMs);
  drawn.style.width = percent(span.durationMs ?? spanMs);
  const name = el('span', {
    class: `name${span.error === undefined ? '' : ' bad'}`,
    title: span.error?.message ?? span.name,
  });
  name.style.paddingLeft = `${depth}em`;
  name.append(span.name, ...keyOf(span), ...(span.error === undefined ? [] : [` – ${span.error.class}`]));
  return el(
    'li',
    {},
    name,
    el('span', { class: 'track', 'aria-hidden': 'true' }, drawn),
    el('span', { class: 'took' }, took),
  );
}
