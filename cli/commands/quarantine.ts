// `fairlead quarantine`: items that are left alone because they took down too many runners, and items that failed.
import type { Command } from 'commander';
import type { TroubledItem } from '../../runner/protocol/index.ts';
import { CommandError } from '../exit.ts';
import { labelOf } from '../label.ts';
import { addFiles } from '../local/options.ts';
import { print } from '../output.ts';
import { printable, printableName } from '../printable.ts';
import { act } from '../remote/act.ts';
import { type AskedOptions, asksOperator } from '../remote/asked.ts';
import { troubledRemotely } from '../remote/quarantine.ts';
import { addRemote, partsOf } from '../remote/session.ts';

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
  await print(options.output, { items }, () => listText(items));
}

async function ofOperator(options: Options): Promise<Listed[]> {
  const all = await troubledRemotely(options);
  return all.flatMap(({ name, items }) => items.map((item) => ({ pipeline: labelOf(partsOf(name)), ...item })));
}

async function ofFiles({ file }: Options): Promise<Listed[]> {
  const { troubledOfFiles } = await import('../local/quarantine.ts');
  return (await troubledOfFiles(file)).flatMap(({ label, items }) =>
    items.map((item) => ({ pipeline: label, ...item })),
  );
}

async function release(keys: readonly string[], options: Options): Promise<void> {
  if (asksOperator(options)) return releaseOfOperator(keys, options);
  const { releaseOfFiles } = await import('../local/quarantine.ts');
  const released = await releaseOfFiles(options.file, keys);
  await print(options.output, { released }, () => `${released} released; fairlead refresh runs them\n`);
}

async function releaseOfOperator(keys: readonly string[], options: Options): Promise<void> {
  if (keys.length > 0)
    throw new CommandError(
      'an operator releases all that is quarantined; single items are released where the state is reached, with -f',
      'usage',
    );
  await act([{ action: 'release-quarantined' }], options);
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
