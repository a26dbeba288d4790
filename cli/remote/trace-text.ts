// A trace as text: one span a line, indented below its parent, with its time, its place on a bar, and what it tells.
import type { AttributeValue, TraceSpan, TraceTree } from '../../operator/telemetry/index.ts';
import { duration } from './text.ts';

const BAR_WIDTH = 30;
/** Spans of one level that are printed unless all are wanted: those that failed and those that took longest. The rest is counted. */
const SIBLINGS_SHOWN = 12;
const NAME_WIDTH = 46;

interface Scale {
  readonly startMs: number;
  readonly spanMs: number;
  /** Every span is printed. */
  readonly isWhole: boolean;
}

/** `isWhole`: every span, else the most telling ones of each level. */
export function traceText(tree: TraceTree, nowMs: number, isWhole: boolean): string {
  const { pipeline, update, kind, trigger, result, traceId, runs, links, root, isTakenOver } = tree;
  const spanMs = Math.max(1, root.durationMs ?? nowMs - root.startMs);
  const head = [
    `update ${update} of ${pipeline} (${kind}, by ${trigger}): ${result ?? 'running'}`,
    `trace ${traceId}; ${runs.total} runs, spans of ${runs.kept}${runs.leftOut > 0 ? `, ${runs.leftOut} left out` : ''}`,
    ...(isTakenOver ? ['an earlier operator began it: what that one saw is not here'] : []),
    ...links.map((link) => `because of ${link.trigger}${link.revision === undefined ? '' : ` at ${link.revision}`}`),
  ];
  return `${[...head, '', ...spanLines(root, 0, { startMs: root.startMs, spanMs, isWhole })].join('\n')}\n`;
}

function spanLines(span: TraceSpan, depth: number, scale: Scale): string[] {
  const shown = scale.isWhole ? span.children : mostTelling(span.children);
  const hidden = span.children.length - shown.length;
  return [
    lineOf(span, depth, scale),
    ...shown.flatMap((child) => spanLines(child, depth + 1, scale)),
    ...(hidden > 0
      ? [`${'  '.repeat(depth + 1)}and ${hidden} more that went well and took less time; -o wide has all`]
      : []),
  ];
}

/** In their order; what failed comes before what took long, however much there is of it. */
function mostTelling(spans: readonly TraceSpan[]): readonly TraceSpan[] {
  if (spans.length <= SIBLINGS_SHOWN) return spans;
  const failed = spans.filter(({ error }) => error !== undefined);
  const tookMs = ({ durationMs = Number.POSITIVE_INFINITY }: TraceSpan): number => durationMs;
  const longest = spans
    .filter(({ error }) => error === undefined)
    .sort((a, b) => tookMs(b) - tookMs(a))
    .slice(0, Math.max(0, SIBLINGS_SHOWN - failed.length));
  const shown = new Set([...failed, ...longest]);
  return spans.filter((span) => shown.has(span));
}

function lineOf(span: TraceSpan, depth: number, { startMs, spanMs }: Scale): string {
  const { kind, name, durationMs, error, attributes } = span;
  const key = attributes['fairlead.item.key'] ?? attributes['server.address'] ?? attributes['process.executable.name'];
  const label = cut(`${'  '.repeat(depth)}${name}${key === undefined ? '' : ` ${key}`}`, NAME_WIDTH).padEnd(NAME_WIDTH);
  const took = (durationMs === undefined ? 'goes on' : duration(durationMs)).padStart(8);
  const bar = barOf(span, startMs, spanMs);
  const failed =
    error === undefined ? '' : `  ${error.class}${error.message === undefined ? '' : `: ${error.message}`}`;
  return `${label} ${took} |${bar}|${failed}${kind === 'wait' ? tellsWait(attributes) : waitedText(span, depth)}`.trimEnd();
}

/** Of the runs nearest to the root what was served meanwhile, of those below how long. */
function waitedText({ wait }: TraceSpan, depth: number): string {
  if (wait?.durationMs === undefined) return '';
  return `  waited ${duration(wait.durationMs)}${depth <= 1 ? `:${tellsWait(wait.attributes)}` : ''}`;
}

/** What was served instead, and who held and waited when its turn came. */
function tellsWait(attributes: Readonly<Record<string, AttributeValue>>): string {
  const of = (name: string): AttributeValue | undefined => attributes[`fairlead.wait.${name}`];
  const list = (value: AttributeValue | undefined): string => (Array.isArray(value) ? value.join(', ') : '');
  const told = [
    list(of('served_instead')) === ''
      ? 'nobody was served meanwhile'
      : `served meanwhile: ${list(of('served_instead'))}`,
    ...(of('is_whole') === false ? ['and more, longer ago than is remembered'] : []),
    ...(list(of('counts')) === '' ? [] : [`then ${list(of('counts'))}`]),
    ...(of('on_loan') === true ? ["on its parent's slot"] : []),
  ];
  return `  ${told.join('; ')}`;
}

/** Dots for the wait of a run, then what it took. */
function barOf({ startMs, durationMs, wait }: TraceSpan, rootMs: number, spanMs: number): string {
  const placeOf = (ms: number): number =>
    Math.max(0, Math.min(BAR_WIDTH - 1, Math.floor(((ms - rootMs) / spanMs) * BAR_WIDTH)));
  const from = placeOf(startMs);
  const waitsFrom = wait === undefined ? from : placeOf(wait.startMs);
  const length = Math.max(1, Math.min(BAR_WIDTH - from, Math.round(((durationMs ?? spanMs) / spanMs) * BAR_WIDTH)));
  return `${' '.repeat(waitsFrom)}${'.'.repeat(from - waitsFrom)}${'='.repeat(length)}`.padEnd(BAR_WIDTH);
}

const cut = (text: string, width: number): string =>
  [...text].length <= width ? text : `${[...text].slice(0, width - 1).join('')}…`;
