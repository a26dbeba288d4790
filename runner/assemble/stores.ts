// Opens the state and the targets that a Pipeline names.
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type PipelineSpec, type TargetSpec, targetOf } from '../../crds/schema/index.ts';
import type { Clock } from '../clock.ts';
import type { StateStore, Target } from '../execute/index.ts';
import { StepError } from '../sdk/index.ts';
import { SqliteState } from '../state/index.ts';
import { SqliteTarget } from '../targets/index.ts';
import { type Folders, stateFile, targetFile } from './names.ts';

export interface StoreOptions {
  readonly pipeline: string;
  readonly folders: Folders;
  readonly clock: Clock;
  /** For commands that only look: takes no lock and writes nothing. */
  readonly readOnly: boolean;
  /** Leadership epoch; `next` where nobody else leads. */
  readonly epoch: number | 'next';
}

/** A state and its targets, open and prepared. */
export interface Stores {
  readonly state: StateStore;
  readonly targets: readonly Target[];
  readonly epoch: number;
  /** Embedded state file; absent for a state on a server. */
  readonly file?: string;
  /** Targets that hold rows of a state that was lost; what no item claims in a whole cycle is to be swept. */
  readonly adopted: readonly Target[];
  close(): Promise<void>;
}

/** Opens state and targets. Throws errors for people: what is refused, where, and what to do. */
export async function openStores(spec: PipelineSpec, options: StoreOptions): Promise<Stores> {
  if (spec.state.sqlite === undefined)
    throw new StepError('invalid', 'spec.state: only sqlite can be opened by this version of the local mode');
  const file = stateFile(spec, options.pipeline, options.folders);
  if (!options.readOnly) await mkdir(dirname(file), { recursive: true });
  const shared = spec.targets
    .filter((target) => isShared(spec, target, options))
    .map((it) => sqliteTarget(spec, it, options));
  const { clock, readOnly } = options;
  const state = new SqliteState({ file, clock, readOnly, shared });
  const epoch = await state.open(options.epoch);
  const opened: Target[] = [];
  const close = async () => {
    for (const target of opened) await target.close();
    await state.close();
  };
  try {
    const stateId = state.stateId();
    for (const target of spec.targets)
      opened.push(
        shared.find(({ name }) => name === target.name) ?? (await openTarget(spec, target, options, stateId)),
      );
    const adopted = await prepareAll(opened);
    return { state, targets: opened, epoch, file, adopted, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function prepareAll(targets: readonly Target[]): Promise<Target[]> {
  const adopted: Target[] = [];
  for (const target of targets) if ((await target.prepare()) === 'adopted') adopted.push(target);
  return adopted;
}

const isShared = (spec: PipelineSpec, target: TargetSpec, { folders }: StoreOptions) =>
  target.sqlite !== undefined && targetFile(spec, target, folders) === undefined;

function sqliteTarget(spec: PipelineSpec, target: TargetSpec, options: StoreOptions, stateId?: string): SqliteTarget {
  const { table, vector, fullText } = target.sqlite!;
  const file = targetFile(spec, target, options.folders);
  return new SqliteTarget({
    name: target.name,
    table,
    fullText,
    pipeline: options.pipeline,
    readOnly: options.readOnly,
    ...(vector !== undefined && { vector }),
    ...(file !== undefined && { file }),
    ...(stateId !== undefined && { stateId }),
  });
}

async function openTarget(
  spec: PipelineSpec,
  target: TargetSpec,
  options: StoreOptions,
  stateId: string,
): Promise<Target> {
  const { kind } = targetOf(target);
  if (kind !== 'sqlite')
    throw new StepError(
      'invalid',
      `spec.targets: the target ${target.name} is of kind ${kind}, which this version cannot open`,
    );
  const file = targetFile(spec, target, options.folders);
  if (file !== undefined && !options.readOnly) await mkdir(dirname(file), { recursive: true });
  return sqliteTarget(spec, target, options, stateId);
}
