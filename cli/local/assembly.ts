// Opens the parts of a Pipeline on this machine: to work, or only to look.

import { type AssembleOptions, type Assembly, assemble, openSources } from '../../runner/assemble/index.ts';
import { type Clock, systemClock } from '../../runner/clock.ts';
import { NothingIndexed, sqliteAdvice } from '../../runner/database/index.ts';
import type { ReadSecret } from '../../runner/secrets.ts';
import { type Holder, StateInUseError } from '../../runner/state/index.ts';
import { CommandError } from '../exit.ts';
import { systemFailure } from '../system-failure.ts';
import { type PipelineObjects, sourceFolder } from './objects.ts';
import { type Environment, resolveSecret } from './secrets.ts';
import { type Waiting, whenFree } from './shared-state.ts';

export interface OpenOptions {
  readonly clock: Clock;
  readonly environment: Environment;
}

export interface WorkOptions extends OpenOptions, Waiting {
  /** Called once another process has the Pipeline's state. */
  readonly onLost: (holder: Holder | undefined) => void;
}

/** What opening a Pipeline's parts needs, from its objects. */
function assembleOptions(objects: PipelineObjects, { clock, environment }: OpenOptions): AssembleOptions {
  return {
    pipeline: objects.label,
    spec: objects.pipeline.value.spec,
    sources: objects.sources.map((it) => ({ name: it.name, spec: it.value.spec, base: sourceFolder(it) })),
    folders: objects.folders,
    clock,
    secret: secretsOf(objects, environment),
    epoch: 'next',
    ignoreClasses: true,
  };
}

/** Opens a Pipeline's parts to work with them. Throws CommandError where that fails for a reason that people can mend. */
export async function openAssembly(objects: PipelineObjects, options: WorkOptions): Promise<Assembly> {
  const { onLost } = options;
  try {
    return await whenFree(objects.label, options, () => assemble({ ...assembleOptions(objects, options), onLost }));
  } catch (error) {
    throw forPeople(error, objects.label);
  }
}

/** Opens a Pipeline's parts to look at what its state and targets hold: takes no lock and writes nothing. Undefined: nothing was indexed yet. */
export async function openToLook(objects: PipelineObjects, environment: Environment): Promise<Assembly | undefined> {
  const options = { ...assembleOptions(objects, { clock: systemClock, environment }), readOnly: true };
  try {
    return await assemble(options);
  } catch (error) {
    if (error instanceof NothingIndexed) return undefined;
    throw forPeople(error, objects.label);
  }
}

/** Opens only the sources. `cacheDir`: where they may keep copies, so that those of a Pipeline that is at work stay untouched. */
export function openSourcesToLook(objects: PipelineObjects, environment: Environment, cacheDir: string) {
  return openSources({ ...assembleOptions(objects, { clock: systemClock, environment }), cacheDir });
}

/** Reads secret values for the parts of a Pipeline, anew at each use. */
export function secretsOf({ secrets }: PipelineObjects, environment: Environment): ReadSecret {
  const objects = secrets.map(({ value }) => value);
  return async (from) => resolveSecret(from, objects, environment);
}

/** Failures of opening are for people; anything else is a fault of the program and keeps its stack. */
export function forPeople(error: unknown, label: string): unknown {
  if (error instanceof CommandError) return error;
  if (error instanceof StateInUseError) return new CommandError(error.message);
  const advice = sqliteAdvice(error);
  if (error instanceof Error && ['StepError', 'TargetRefused', 'Error'].includes(error.name))
    return new CommandError(
      `Pipeline ${label}: ${systemFailure(error) ?? error.message}${advice === undefined ? '' : ` (the file of its state or of a target: ${advice})`}`,
    );
  return error;
}
