// What failed lately, with the messages.
import type { Overview } from '../../api/index.ts';
import { el, table } from './dom.ts';
import { agoText } from './text.ts';

export function failuresPage({ pipelines, atMs }: Overview): HTMLElement[] {
  const all = pipelines
    .flatMap((pipeline) => pipeline.failures.map((failure) => ({ pipeline, failure })))
    .sort((a, b) => b.failure.atMs - a.failure.atMs);
  const rows = all.map(({ pipeline, failure }) => ({
    cells: [
      failure.path,
      pipeline.name,
      failure.step ?? '–',
      failure.class,
      el('span', { class: 'bad' }, failure.message),
      agoText(failure.atMs, atMs),
    ],
  }));
  const columns = [
    { title: 'Component', isText: true },
    { title: 'Pipeline', isText: true },
    { title: 'Step', isText: true },
    { title: 'Class', isText: true },
    { title: 'Message', isText: true },
    { title: 'When' },
  ];
  const body = rows.length === 0 ? el('p', {}, 'Nothing failed lately.') : table('Newest first', columns, rows);
  return [el('section', {}, el('h1', {}, 'Failures'), body)];
}
