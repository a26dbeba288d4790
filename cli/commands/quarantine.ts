// `fairlead quarantine`: items that are left alone because they took down too many runners, and items that failed.
import type { Command } from 'commander';
import type { ItemRecord } from '../../runner/execute/index.ts';
import { CommandError } from '../exit.ts';
import { type openAssembly, openToLook } from '../local/assembly.ts';
import { workOn } from '../local/hand-over.ts';
import { loadPipelines, type PipelineObjects } from '../local/objects.ts';
import { addFiles } from '../local/options.ts';
import { SILENT } from '../local/report.ts';
import { surroundings } from '../local/session.ts';
import type { Work } from '../local/work.ts';
import { printable, printableName } from '../printable.ts';
import { act } from '../remote/act.ts';
import { type AskedOptions, asksOperator } from '../remote/asked.ts';
import { listRemembered } from '../remote/quarantine.ts';
import { addRemote, type Form, print } from '../remote/session.ts';

const PAGE = 1_000;

interface Options extends AskedOptions {
  readonly release?: boolean;
}

export function configure(command: Command): void {
  command
    .description(
      'List items that are quarantined (they took down three runners and are left alone until they change or are released) and items that failed (tried again in each cycle). With files the state itself is read; an operator tells how many there are, and the failures that it remembers.',
    )
    .argument('[key...]', 'only these items');
  addRemote(addFiles(command)).option('--release', 'let quarantined items run again in the next cycle').action(run);
}

interface Listed {
  readonly pipeline: string;
  readonly source: string;
  readonly key: string;
  readonly status: 'quarantined' | 'failed';
  readonly failures: number;
  readonly losses: number;
  readonly error: string;
}

async function run(keys: readonly string[], options: Options): Promise<void> {
  if (asksOperator(options)) return askOperator(keys, options);
  const { file, output, release } = options;
  const objects = await loadPipelines(file, surroundings());
  if (release === true) return releaseAll(objects, keys, output);
  const items: Listed[] = [];
  for (const one of objects) items.push(...(await listed(one, keys)));
  print(output, { items }, () => listText(items));
}

async function askOperator(keys: readonly string[], options: Options): Promise<void> {
  if (options.release !== true) return listRemembered(keys, options);
  if (keys.length > 0)
    throw new CommandError(
      'an operator releases all that is quarantined; single items are released where the state is reached, with -f',
      'usage',
    );
  await act([{ action: 'release-quarantined' }], options);
}

async function listed(objects: PipelineObjects, keys: readonly string[]): Promise<Listed[]> {
  const assembly = await openToLook(objects, process.env);
  if (assembly === undefined) return [];
  try {
    const found: Listed[] = [];
    for (const status of ['quarantined', 'failed'] as const)
      for await (const item of itemsOf(assembly.stores.state, status))
        if (keys.length === 0 || keys.includes(item.key)) found.push(asListed(objects.label, status, item));
    return found;
  } finally {
    await assembly.close();
  }
}

type State = Awaited<ReturnType<typeof openAssembly>>['stores']['state'];

async function* itemsOf(state: State, status: ItemRecord['status']): AsyncGenerator<ItemRecord> {
  for (let after = 0; ; ) {
    const page = await state.scanItems({ status }, after, PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}

function asListed(pipeline: string, status: Listed['status'], item: ItemRecord): Listed {
  const { source, key, failures, losses, error = '' } = item;
  return { pipeline, source, key, status, failures, losses, error };
}

async function releaseAll(objects: readonly PipelineObjects[], keys: readonly string[], output: Form | undefined) {
  const work: Work = { do: 'release', ...(keys.length > 0 && { keys: [...keys] }) };
  const indexed: PipelineObjects[] = [];
  for (const one of objects) if (await isIndexed(one)) indexed.push(one);
  const results = await workOn(indexed, () => work, SILENT);
  const released = results.reduce((sum, result) => sum + (result.released ?? 0), 0);
  if (keys.length > 0 && released === 0)
    throw new CommandError(`none of these items is quarantined: ${keys.join(', ')}`);
  print(output, { released }, () => `${released} released; fairlead refresh runs them\n`);
}

async function isIndexed(objects: PipelineObjects): Promise<boolean> {
  const assembly = await openToLook(objects, process.env);
  await assembly?.close();
  return assembly !== undefined;
}

function listText(items: readonly Listed[]): string {
  if (items.length === 0) return 'no item is quarantined, and none failed\n';
  return items
    .map(({ source, key, status, failures, losses, error }) => {
      const how = status === 'quarantined' ? `quarantined after ${losses} losses` : `failed ${failures} times`;
      return `${source}: ${printableName(key)}: ${how}: ${printable(error)}\n`;
    })
    .join('');
}
