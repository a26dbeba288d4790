// What an operator knows of items that failed: how many there are, and the last failures that it heard of. The state has them all.
import type { Overview, PipelineView } from '../../operator/api/index.ts';
import { pathOf } from './client.ts';
import { chosen, print, type RemoteOptions, withOperator } from './session.ts';
import { age, columns } from './text.ts';

type Failure = PipelineView['failures'][number];

interface Remembered {
  readonly pipeline: string;
  readonly source: string;
  readonly failed: number;
  readonly quarantined: number;
}

/** Prints them. `keys`: only failures of these items. */
export async function listRemembered(keys: readonly string[], options: RemoteOptions): Promise<void> {
  await withOperator(options, async (client) => {
    const overview = await client.get<Overview>('/api/v1/overview');
    const pipelines = chosen(overview.pipelines, options);
    const counts = pipelines.flatMap(countsOf);
    const failures: (Failure & { readonly pipeline: string })[] = [];
    for (const { name } of pipelines) {
      const { failures: known } = await client.get<{ failures: Failure[] }>(pathOf(name, '/failures'));
      failures.push(...known.filter((one) => isOf(one, keys)).map((one) => ({ pipeline: name, ...one })));
    }
    print(options.output, { counts, failures }, () => text(counts, failures, overview.atMs));
  });
}

const countsOf = ({ name, sources }: PipelineView): Remembered[] =>
  sources.flatMap(({ name: source, items: { failed, quarantined } }) =>
    failed + quarantined === 0 ? [] : [{ pipeline: name, source, failed, quarantined }],
  );

const isOf = ({ path, key }: Failure, keys: readonly string[]): boolean =>
  keys.length === 0 || keys.some((one) => one === key || path === one || path.endsWith(`/${one}`));

function text(
  counts: readonly Remembered[],
  failures: readonly (Failure & { readonly pipeline: string })[],
  nowMs: number,
): string {
  const heads = counts.map(
    ({ pipeline, source, failed, quarantined }) =>
      `${pipeline} ${source}: ${failed} failed, ${quarantined} quarantined; fairlead quarantine -f lists them from the state\n`,
  );
  if (failures.length === 0) return heads.join('') || 'no item is quarantined, and none failed lately\n';
  const rows = failures.map(({ pipeline, path, step = '-', class: kind, atMs, message }) => [
    pipeline,
    path,
    step,
    kind,
    age(atMs, nowMs),
    message.replaceAll(/\s+/g, ' '),
  ]);
  return `${heads.join('')}${columns(['PIPELINE', 'COMPONENT', 'STEP', 'CLASS', 'AGE', 'MESSAGE'], rows)}`;
}
