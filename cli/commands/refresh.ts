// `fairlead refresh`: one cycle of live sources now.
import type { Command } from 'commander';
import { CommandError } from '../exit.ts';
import { workOn } from '../local/hand-over.ts';
import { loadPipelines, type PipelineObjects } from '../local/objects.ts';
import { addFiles } from '../local/options.ts';
import { exitOf, setExit, surroundings } from '../local/session.ts';
import type { Work } from '../local/work.ts';
import { act, forEach } from '../remote/act.ts';
import { type AskedOptions, asksOperator } from '../remote/asked.ts';
import { reportOf } from '../remote/report.ts';
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
  const all = await loadPipelines(options.file, surroundings());
  const chosen = pipelinesWith(all, sources);
  const ofOne = (one: PipelineObjects): Work => ({ do: 'refresh', ...ownOf(one, sources), ...consent });
  const report = reportOf(options.output);
  const results = await workOn(chosen, ofOne, report.reporter);
  const ended = results.flatMap((result) => result.ended);
  report.print({ ended });
  setExit(exitOf(ended));
}

/** Pipelines that these live sources feed; all, where none is named. */
export function pipelinesWith(all: readonly PipelineObjects[], sources: readonly string[]): PipelineObjects[] {
  const known = all.flatMap((pipeline) => pipeline.sources.map(({ name }) => name));
  const unknown = sources.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new CommandError(`no live source is named ${unknown}; there are ${known.join(', ') || 'none'}`, 'usage');
  return all.filter((one) => sources.length === 0 || one.sources.some(({ name }) => sources.includes(name)));
}

/** Those of these live sources that feed one Pipeline. */
export function ownOf({ sources: own }: PipelineObjects, sources: readonly string[]): { readonly sources?: string[] } {
  return sources.length === 0 ? {} : { sources: sources.filter((name) => own.some((source) => source.name === name)) };
}
