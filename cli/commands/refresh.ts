// `fairlead refresh`: one cycle of live sources now.
import type { Command } from 'commander';
import { addFiles } from '../local/options.ts';
import { act, forEach } from '../remote/act.ts';
import { type AskedOptions, asksOperator } from '../remote/asked.ts';
import { addRemote } from '../remote/session.ts';

interface Options extends AskedOptions {
  readonly allowDeletes?: boolean;
}

export function configure(command: Command): void {
  command
    .description(
      'List live sources now and process what changed: one cycle of each. With files it is done here and waited for, by the fairlead dev --watch that is at work on the same state where there is one; an operator is asked for it.',
    )
    .argument('[source...]', 'names of live sources (default: all)');
  addRemote(addFiles(command))
    .option('--allow-deletes', 'consent to more deletes than deleteGuard allows, in this cycle')
    .action(run);
}

async function run(sources: readonly string[], options: Options): Promise<void> {
  const consent = options.allowDeletes === true && { allowDeletes: true };
  if (asksOperator(options)) return act(forEach(sources, { action: 'refresh', ...consent }), options);
  const { cyclesOfFiles } = await import('../local/cycles.ts');
  await cyclesOfFiles({ do: 'refresh', ...consent }, sources, options);
}
