// `fairlead refresh`: one cycle of live sources now.
import type { Command } from 'commander';
import { CommandError } from '../exit.ts';
import { workOn } from '../local/hand-over.ts';
import { loadPipelines, type PipelineObjects } from '../local/objects.ts';
import { addFiles, addOutput, type FileOptions } from '../local/options.ts';
import { exitOf, reporterFor, setExit, surroundings } from '../local/session.ts';
import type { Work } from '../local/work.ts';

interface Options extends FileOptions {
  readonly allowDeletes?: boolean;
}

export function configure(command: Command): void {
  command
    .description(
      'List live sources now and process what changed: one cycle of each. Where fairlead dev --watch is at work on the same state, that process does it.',
    )
    .argument('[source...]', 'names of live sources (default: all)');
  addOutput(addFiles(command))
    .option('--allow-deletes', 'consent to more deletes than deleteGuard allows, in this cycle')
    .action(run);
}

async function run(sources: readonly string[], options: Options): Promise<void> {
  const all = await loadPipelines(options.file, surroundings());
  const known = all.flatMap((pipeline) => pipeline.sources.map(({ name }) => name));
  const unknown = sources.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new CommandError(`no live source is named ${unknown}; there are ${known.join(', ') || 'none'}`, 'usage');
  const chosen = all.filter((one) => sources.length === 0 || one.sources.some(({ name }) => sources.includes(name)));
  const ofOne = ({ sources: own }: PipelineObjects): Work => ({
    do: 'refresh',
    ...(sources.length > 0 && { sources: sources.filter((name) => own.some((source) => source.name === name)) }),
    ...(options.allowDeletes === true && { allowDeletes: true }),
  });
  const results = await workOn(chosen, ofOne, reporterFor(options.output));
  setExit(exitOf(results.flatMap(({ ended }) => ended)));
}
