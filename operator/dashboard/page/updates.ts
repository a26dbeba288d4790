// The list of updates: those that run, and the last ones that did something.
import type { Overview, PipelineView } from '../../api/index.ts';
import { colourOf, OWN, swatch } from './colours.ts';
import { chip, el, measured, nothing, table } from './dom.ts';
import { agoText, countsText, durationText } from './text.ts';

export type Update = PipelineView['updates'][number];

export function updatesPage({ pipelines, atMs }: Overview): HTMLElement[] {
  const all = pipelines
    .flatMap((pipeline) => pipeline.updates.map((update) => ({ pipeline, update })))
    .sort((a, b) => b.update.startedAtMs - a.update.startedAtMs);
  const longestMs = Math.max(1, ...all.map(({ update }) => tookMs(update, atMs)));
  const rows = all.map(({ pipeline, update }) => ({
    cells: [
      el('a', { href: updateHref(pipeline.name, update.name) }, update.name),
      pipeline.name,
      el('span', {}, swatch(sourceColour(pipeline, update)), update.source ?? 'the Pipeline itself'),
      whatText(update),
      resultChip(update),
      countsText(update.counts, update.result === 'Running'),
      measured(tookMs(update, atMs) / longestMs, durationText(tookMs(update, atMs)), 'var(--quiet)'),
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
  const body =
    rows.length === 0
      ? nothing('No update has done anything yet.', 'Cycles that find nothing to do leave no line here.')
      : table('Those that run, and the last ones that did something', columns, rows);
  return [el('section', {}, el('h1', {}, 'Updates'), body)];
}

export const updateHref = (pipeline: string, name: string): string =>
  `#/updates/${encodeURIComponent(pipeline)}/${encodeURIComponent(name)}`;

export const whatText = ({ kind, trigger }: Update): string => `${kind}, by ${trigger}`;

export const tookMs = ({ startedAtMs, endedAtMs }: Update, nowMs: number): number =>
  Math.max(0, (endedAtMs ?? nowMs) - startedAtMs);

const KINDS: Readonly<Record<Update['result'], 'good' | 'busy' | 'warn' | 'bad' | 'plain'>> = {
  Running: 'busy',
  Succeeded: 'good',
  CompletedWithErrors: 'warn',
  Failed: 'bad',
  Cancelled: 'plain',
};

export const resultChip = ({ result, message }: Update): HTMLElement => chip(result, KINDS[result], message);

const sourceColour = (pipeline: PipelineView, { source }: Update): string =>
  source === undefined ? OWN : colourOf(pipeline, source);
