// `fairlead refresh`: one cycle of live sources now.
import type { Command } from 'commander';
import { CommandError } from '../exit.ts';
import { loadPipelines } from '../local/objects.ts';
import { addFiles, addOutput, type FileOptions } from '../local/options.ts';
import { exitOf, reporterFor, Session, setExit, surroundings } from '../local/session.ts';

interface Options extends FileOptions {
  readonly allowDeletes?: boolean;
}

export function configure(command: Command): void {
  command
    .description('List live sources now and process what changed: one cycle of each.')
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
  const session = new Session(reporterFor(options.output));
  await session.run(chosen, async (pipelines) => {
    const ended = await Promise.all(
      pipelines.map((pipeline) => {
        const own = sources.filter((name) => pipeline.objects.sources.some((source) => source.name === name));
        return pipeline.cycles({
          trigger: 'manual',
          ...(own.length > 0 && { sources: own }),
          ...(options.allowDeletes === true && { allowDeletes: true }),
        });
      }),
    );
    setExit(exitOf(ended.flat()));
  });
}
