// `fairlead quarantine`: items that are left alone because they took down too many runners, and items that failed.
import type { Command } from 'commander';
import { troubledPage } from '../../runner/execute/index.ts';
import { FIRST_TROUBLED, type TroubledItem, type TroubledPage } from '../../runner/protocol/index.ts';
import { CommandError } from '../exit.ts';
import { openToLook } from '../local/assembly.ts';
import { workOn } from '../local/hand-over.ts';
import { labelOf, loadPipelines, type PipelineObjects } from '../local/objects.ts';
import { addFiles } from '../local/options.ts';
import { SILENT } from '../local/report.ts';
import { surroundings } from '../local/session.ts';
import type { Work } from '../local/work.ts';
import { printable, printableName } from '../printable.ts';
import { act } from '../remote/act.ts';
import { type AskedOptions, asksOperator } from '../remote/asked.ts';
import { troubledRemotely } from '../remote/quarantine.ts';
import { addRemote, type Form, partsOf, print } from '../remote/session.ts';

interface Options extends AskedOptions {
  readonly release?: boolean;
}

export function configure(command: Command): void {
  command
    .description(
      'List items that are quarantined (they took down three runners and are left alone until they change or are released) and items that failed (tried again in each cycle). With files the state is read here; an operator has its runners read it.',
    )
    .argument('[key...]', 'only these items');
  addRemote(addFiles(command)).option('--release', 'let quarantined items run again in the next cycle').action(run);
}

interface Listed extends TroubledItem {
  readonly pipeline: string;
}

async function run(keys: readonly string[], options: Options): Promise<void> {
  if (options.release === true) return release(keys, options);
  const all = asksOperator(options) ? await ofOperator(options) : await ofFiles(options);
  const items = keys.length === 0 ? all : all.filter(({ key }) => keys.includes(key));
  print(options.output, { items }, () => listText(items));
}

async function release(keys: readonly string[], options: Options): Promise<void> {
  if (!asksOperator(options)) {
    const { file, output } = options;
    return releaseAll(await loadPipelines(file, surroundings()), keys, output);
  }
  if (keys.length > 0)
    throw new CommandError(
      'an operator releases all that is quarantined; single items are released where the state is reached, with -f',
      'usage',
    );
  await act([{ action: 'release-quarantined' }], options);
}

async function ofOperator(options: Options): Promise<Listed[]> {
  const all = await troubledRemotely(options);
  return all.flatMap(({ name, items }) => items.map((item) => ({ pipeline: labelOf(partsOf(name)), ...item })));
}

async function ofFiles({ file }: Options): Promise<Listed[]> {
  const items: Listed[] = [];
  for (const one of await loadPipelines(file, surroundings()))
    items.push(...(await troubled(one)).map((item) => ({ pipeline: one.label, ...item })));
  return items;
}

async function troubled(objects: PipelineObjects): Promise<TroubledItem[]> {
  const assembly = await openToLook(objects, process.env);
  if (assembly === undefined) return [];
  try {
    const items: TroubledItem[] = [];
    for (let place: TroubledPage['next'] = FIRST_TROUBLED; place !== undefined; ) {
      const page: TroubledPage = await troubledPage(assembly.stores.state, place);
      items.push(...page.items);
      place = page.next;
    }
    return items;
  } finally {
    await assembly.close();
  }
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
