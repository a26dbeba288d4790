// One update: what it came to, why it waits, what made it, and where its time went.
import type { Why } from '../../api/index.ts';
import type { TraceTree } from '../../telemetry/index.ts';
import { el, facts, nothing } from './dom.ts';
import { countsText, countText, durationText } from './text.ts';
import { timeline } from './timeline.ts';
import { resultChip, tookMs, type Update, whatText } from './updates.ts';

export interface UpdateAnswer {
  readonly update?: Update;
  readonly trace?: TraceTree;
}

export function updatePage(name: string, { update, trace }: UpdateAnswer, why: Why, nowMs: number): HTMLElement[] {
  return [
    el(
      'section',
      {},
      el('p', { class: 'trail' }, el('a', { href: '#/updates' }, 'Updates'), ' / ', why.pipeline),
      el('h1', {}, `Update ${name}`),
      ...(update === undefined ? [] : updateFacts(update, nowMs)),
      ...(update === undefined || update.result === 'Running' ? whySays(why) : []),
      ...causes(trace),
    ),
    el('section', {}, el('h2', {}, 'Timeline'), ...timelinePart(trace, nowMs)),
  ];
}

function updateFacts(update: Update, nowMs: number): HTMLElement[] {
  const { counts, waitedMs, message, source } = update;
  return [
    facts([
      ['Result', resultChip(update)],
      ['Source', source ?? 'the Pipeline itself'],
      ['What', whatText(update)],
      ['Items', countsText(counts, update.result === 'Running')],
      ['Took', durationText(tookMs(update, nowMs))],
      ...(waitedMs === undefined ? [] : [['Waited for its first slot', durationText(waitedMs)] as const]),
    ]),
    ...(message === undefined ? [] : [el('p', { class: 'message' }, message)]),
  ];
}

const RUNS_SHOWN = 5;

function whySays({ runs, says }: Why): HTMLElement[] {
  const sentences = [
    ...says,
    ...runs.slice(0, RUNS_SHOWN).flatMap(({ run, says }) => says.map((sentence) => `${run.path}: ${sentence}`)),
  ];
  if (sentences.length === 0) return [];
  return [el('h2', {}, 'What it does now'), el('ul', {}, ...sentences.map((sentence) => el('li', {}, sentence)))];
}

/** What made it, and what was wanted while it had not begun. */
function causes(trace: TraceTree | undefined): HTMLElement[] {
  if (trace === undefined || (trace.links.length === 0 && !trace.isTakenOver)) return [];
  const links = trace.links.map(({ trigger, revision, atMs }) => {
    const at = new Date(atMs).toLocaleTimeString();
    return el('li', {}, `${trigger}${revision === undefined ? '' : ` at ${revision}`}, ${at}`);
  });
  const taken = trace.isTakenOver
    ? [el('p', { class: 'quiet' }, 'An earlier operator began it; what that one saw is not in this timeline.')]
    : [];
  return [...(links.length === 0 ? [] : [el('h2', {}, 'Because of'), el('ul', {}, ...links)]), ...taken];
}

function timelinePart(trace: TraceTree | undefined, nowMs: number): HTMLElement[] {
  if (trace === undefined)
    return [
      nothing(
        'No spans of this update are kept.',
        'Those of the last 500 updates are, unless traces are off (',
        el('code', {}, 'FAIRLEAD_TRACES=off'),
        ').',
      ),
    ];
  const { runs, traceId } = trace;
  const left = runs.leftOut === 0 ? 'all of them shown' : `${countText(runs.kept)} of them shown`;
  return [
    facts([
      ['Trace', el('code', {}, traceId)],
      ['Attempts of runs', `${countText(runs.total)}, ${left}`],
    ]),
    ...timeline(trace.root, nowMs),
  ];
}
