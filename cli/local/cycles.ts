// Cycles of the live sources in files, done to their end: here, or by the process that is at work on the same state.
import { CommandError, setExit } from '../exit.ts';
import type { Form } from '../output.ts';
import { workOn } from './hand-over.ts';
import { loadPipelines, type PipelineObjects } from './objects.ts';
import { exitOf, reporterFor, surroundings } from './session.ts';
import type { Work } from './work.ts';

type Cycles = Extract<Work, { readonly do: 'refresh' | 'reprocess' }>;

export interface CyclesOptions {
  readonly file?: readonly string[];
  readonly output?: Form;
}

/** Of these live sources; of all, where none is named. Ends with the exit code of the gravest ending. */
export async function cyclesOfFiles(
  work: Omit<Cycles, 'sources'>,
  sources: readonly string[],
  { file, output }: CyclesOptions,
): Promise<void> {
  const all = pipelinesWith(await loadPipelines(file, surroundings()), sources);
  const reporter = reporterFor(output);
  const results = await workOn(all, (one) => ({ ...work, ...ownOf(one, sources) }), reporter);
  const ended = results.flatMap((result) => result.ended);
  setExit(exitOf(ended));
}

function pipelinesWith(all: readonly PipelineObjects[], sources: readonly string[]): PipelineObjects[] {
  const known = all.flatMap((pipeline) => pipeline.sources.map(({ name }) => name));
  const unknown = sources.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new CommandError(`no live source is named ${unknown}; there are ${known.join(', ') || 'none'}`, 'usage');
  return all.filter((one) => sources.length === 0 || one.sources.some(({ name }) => sources.includes(name)));
}

/** Those of these live sources that feed one Pipeline. */
function ownOf({ sources: own }: PipelineObjects, sources: readonly string[]): { readonly sources?: string[] } {
  return sources.length === 0 ? {} : { sources: sources.filter((name) => own.some((source) => source.name === name)) };
}
