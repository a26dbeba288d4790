// `fairlead reprocess`: processes every known item again, whatever the memos say.
import type { Command } from 'commander';
import { addFiles } from '../local/options.ts';
import { act, forEach } from '../remote/act.ts';
import { type AskedOptions, asksOperator } from '../remote/asked.ts';
import { addRemote } from '../remote/session.ts';

export function configure(command: Command): void {
  command
    .description(
      'Process every known item again: memos are not used, and all rows are written anew. Rows stay searchable until theirs are replaced. With files it is done here and waited for, by the fairlead dev --watch that is at work on the same state where there is one; an operator is asked for it.',
    )
    .argument('[source...]', 'only the items of these live sources');
  addRemote(addFiles(command)).action(run);
}

async function run(sources: readonly string[], options: AskedOptions): Promise<void> {
  if (asksOperator(options)) return act(forEach(sources, { action: 'reprocess' }), options);
  const { cyclesOfFiles } = await import('../local/cycles.ts');
  await cyclesOfFiles({ do: 'reprocess' }, sources, options);
}
