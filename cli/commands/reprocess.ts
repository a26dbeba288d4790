// `fairlead reprocess`: processes every known item again, whatever the memos say.
import type { Command } from 'commander';
import { workOn } from '../local/hand-over.ts';
import { loadPipelines, type PipelineObjects } from '../local/objects.ts';
import { addFiles } from '../local/options.ts';
import { exitOf, setExit, surroundings } from '../local/session.ts';
import type { Work } from '../local/work.ts';
import { act, forEach } from '../remote/act.ts';
import { type AskedOptions, asksOperator } from '../remote/asked.ts';
import { reportOf } from '../remote/report.ts';
import { addRemote } from '../remote/session.ts';
import { ownOf, pipelinesWith } from './refresh.ts';

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
  const all = pipelinesWith(await loadPipelines(options.file, surroundings()), sources);
  const ofOne = (one: PipelineObjects): Work => ({ do: 'reprocess', ...ownOf(one, sources) });
  const report = reportOf(options.output);
  const results = await workOn(all, ofOne, report.reporter);
  const ended = results.flatMap((result) => result.ended);
  report.print({ ended });
  setExit(exitOf(ended));
}
