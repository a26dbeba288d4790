// `fairlead plan`: what would change, per item. Nothing is written and nothing is run.

import type { Command } from 'commander';
import pc from 'picocolors';
import { setExit } from '../exit.ts';
import { loadPipelines } from '../local/objects.ts';
import { addFiles, type FileOptions } from '../local/options.ts';
import { preview, type SourcePreview, type Why } from '../local/preview.ts';
import { surroundings } from '../local/session.ts';
import { addOutput, print } from '../output.ts';
import { printableName } from '../printable.ts';

/** How each reason is shown: a sign, and what it says. */
const WHYS: Readonly<Record<Why, readonly [sign: string, text: string]>> = {
  new: ['+', 'new'],
  changed: ['~', 'changed'],
  stale: ['*', 'same content, but spec, code or model differ'],
  failed: ['!', 'failed before, is tried again'],
  quarantined: ['x', 'quarantined: left alone until it changes or is released'],
  removed: ['-', 'gone from the source'],
};

export function configure(command: Command): void {
  command.description(
    'Show what the next cycles would do, per item: sources are listed and compared with the state; nothing is written and nothing is run. Exit code 2: something would change.',
  );
  addOutput(addFiles(command)).action(run);
}

async function run({ file, output }: FileOptions): Promise<void> {
  const objects = await loadPipelines(file, surroundings());
  const plans: Plan[] = [];
  for (const one of objects) plans.push({ pipeline: one.label, sources: await preview(one, process.env) });
  await print(output, { plans }, (isWide) => plans.map((plan) => planText(plan, isWide)).join('\n'));
  const willChange = plans.some(({ sources }) => sources.some(({ items }) => items.some(isChange)));
  setExit(willChange ? 'changes' : 'ok');
}

const isChange = ({ why }: { readonly why: Why }) => why !== 'quarantined';

interface Plan {
  readonly pipeline: string;
  readonly sources: readonly SourcePreview[];
}

/** `isWide`: each item with Pipeline and source. */
function planText({ pipeline, sources }: Plan, isWide: boolean): string {
  const lines = sources.flatMap(({ source, items, unchanged, heldDeletes }) => [
    ...items.map(
      ({ key, why }) =>
        `${WHYS[why][0]} ${isWide ? `${pipeline}/${source}/` : ''}${printableName(key)}  ${pc.dim(WHYS[why][1])}`,
    ),
    `${pc.bold(`${pipeline}/${source}`)}: ${summary(items, unchanged)}`,
    ...(heldDeletes ? ['  the deletes would wait for consent (deleteGuard): --allow-deletes'] : []),
  ]);
  return lines.map((line) => `${line}\n`).join('');
}

function summary(items: SourcePreview['items'], unchanged: number): string {
  const count = (...whys: Why[]) => items.filter(({ why }) => whys.includes(why)).length;
  const held = count('quarantined');
  return [
    `${count('new')} to add`,
    `${count('changed', 'stale', 'failed')} to process again`,
    `${count('removed')} to delete`,
    `${unchanged} unchanged`,
    ...(held > 0 ? [`${held} quarantined`] : []),
  ].join(', ');
}
