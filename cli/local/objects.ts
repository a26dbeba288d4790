// The objects that a command works on: which files, which Pipelines, which live sources feed them.
import { dirname, join } from 'node:path';
import type { LiveSource, Pipeline } from '../../crds/schema/index.ts';
import type { Folders } from '../../runner/assemble/index.ts';
import { CommandError } from '../exit.ts';
import { labelOf } from '../label.ts';
import { type Loaded, loadObjects, problemText, type SecretValues } from '../objects/index.ts';
import { DEFAULT_FILE, filesHere, type Here } from './here.ts';
import { recentFile, rememberFiles } from './recent.ts';

/** A Pipeline with what feeds it. */
export interface PipelineObjects {
  /** Its name; with its namespace where that is not the default one. */
  readonly label: string;
  readonly pipeline: Loaded<Pipeline>;
  readonly sources: readonly Loaded<LiveSource>[];
  readonly secrets: readonly Loaded<SecretValues>[];
  readonly folders: Folders;
}

export interface Surroundings extends Here {
  readonly stdin: () => Promise<string>;
}

/** Paths to read: those that were given, else those that are here. */
function pathsFrom(given: readonly string[] | undefined, here: Here): readonly string[] {
  const paths = given !== undefined && given.length > 0 ? given : filesHere(here);
  if (paths !== undefined) return paths;
  throw new CommandError(
    `say with -f which files to use: there is no ${DEFAULT_FILE} here, and nothing was run in this folder yet (fairlead init writes one)`,
    'usage',
  );
}

const nameOf = (path: string): string => (path === '-' ? 'standard input' : path);

const sameNamespace = (a: { namespace: string }, b: { namespace: string }) => a.namespace === b.namespace;

/** Loads the Pipelines of the files. Throws CommandError with every problem, each on its line. */
export async function loadPipelines(
  given: readonly string[] | undefined,
  surroundings: Surroundings,
): Promise<readonly PipelineObjects[]> {
  const paths = pathsFrom(given, surroundings);
  const { objects, problems } = await loadObjects(paths, surroundings);
  if (problems.length > 0) throw new CommandError(problems.map(problemText).join('\n'));
  const { pipelines, sources, secrets } = objects;
  if (pipelines.length === 0) throw new CommandError(`there is no Pipeline in ${paths.map(nameOf).join(', ')}`);
  return pipelines.map((pipeline) => ({
    label: labelOf(pipeline),
    pipeline,
    sources: sources.filter((it) => sameNamespace(it, pipeline) && it.value.spec.pipelineRef.name === pipeline.name),
    secrets: secrets.filter((secret) => sameNamespace(secret, pipeline)),
    folders: { base: pipeline.origin.folder, home: join(pipeline.origin.folder, '.fairlead') },
  }));
}

/** Notes what was run here, for later commands without -f. Standard input cannot be read again. */
export function rememberRun(given: readonly string[] | undefined, { cwd, environment }: Surroundings): void {
  if (given !== undefined && given.length > 0 && !given.includes('-'))
    rememberFiles(recentFile(environment), cwd, given);
}

/** The Pipeline of that name; without a name there must be only one. */
export function choosePipeline(all: readonly PipelineObjects[], name: string | undefined): PipelineObjects {
  const labels = all.map(({ label }) => label).join(', ');
  const chosen =
    name === undefined ? all : all.filter(({ label, pipeline }) => label === name || pipeline.name === name);
  const [first, second] = chosen;
  if (first === undefined) throw new CommandError(`no Pipeline is named ${name}; there are ${labels}`);
  if (second !== undefined)
    throw new CommandError(`there are several Pipelines: choose one with --pipeline (${labels})`);
  return first;
}

/** Folder of a live source's file. */
export const sourceFolder = (source: Loaded<LiveSource>): string => source.origin.folder || dirname(source.origin.file);
