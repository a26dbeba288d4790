// What failed lately, with the messages.
import type { Overview } from '../../api/index.ts';
import { chip, el, nothing, table } from './dom.ts';
import { agoText } from './text.ts';
import { updateHref } from './updates.ts';

export function failuresPage({ pipelines, atMs }: Overview): HTMLElement[] {
  const all = pipelines
    .flatMap((pipeline) => pipeline.failures.map((failure) => ({ pipeline, failure })))
    .sort((a, b) => b.failure.atMs - a.failure.atMs);
  const rows = all.map(({ pipeline, failure }) => ({
    class: 'roomy',
    cells: [
      failure.path,
      pipeline.name,
      failure.step ?? '–',
      chip(failure.class, 'bad'),
      el('span', { class: 'words' }, failure.message),
      el('a', { href: updateHref(pipeline.name, failure.update) }, failure.update),
      agoText(failure.atMs, atMs),
    ],
  }));
  const columns = [
    { title: 'Component', isText: true },
    { title: 'Pipeline', isText: true },
    { title: 'Step', isText: true },
    { title: 'Class', isText: true },
    { title: 'Message', isText: true },
    { title: 'Update', isText: true },
    { title: 'When' },
  ];
  const body = rows.length === 0 ? nothing('Nothing failed lately.') : table('Newest first', columns, rows);
  return [el('section', {}, el('h1', {}, 'Failures'), body)];
}
