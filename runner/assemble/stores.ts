// Opens the state and the targets that a Pipeline names.
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { PipelineSpec } from '../../crds/schema/index.ts';
import type { StateStore, Target } from '../execute/index.ts';
import { PostgresState, SqliteState } from '../state/index.ts';
import { stateFile } from './names.ts';
import { type MadeTarget, TargetMaker, type TargetOptions } from './targets.ts';

export interface StoreOptions extends TargetOptions {
  /** Leadership epoch; `next` where nobody else leads. */
  readonly epoch: number | 'next';
}

/** A state and its targets, open and prepared. */
export interface Stores {
  readonly state: StateStore;
  readonly targets: readonly Target[];
  readonly epoch: number;
  /** Targets that hold rows of a state that was lost; what no item claims in a whole cycle is to be swept. */
  readonly adopted: readonly Target[];
  close(): Promise<void>;
}

/** Opens state and targets. Throws errors for people: what is refused, where, and what to do. */
export async function openStores(spec: PipelineSpec, options: StoreOptions): Promise<Stores> {
  const url = spec.state.postgres && (await options.secret(spec.state.postgres.urlFrom));
  const maker = new TargetMaker(spec, options, url);
  const shared = await maker.shared();
  const state = await makeState(spec, options, url, shared);
  const epoch = await state.open(options.epoch);
  const opened: Target[] = [];
  const close = async () => {
    for (const target of opened) await target.close();
    await state.close();
  };
  try {
    const stateId = await state.stateId();
    for (const one of spec.targets)
      opened.push(shared.find(({ target }) => target.name === one.name)?.target ?? (await maker.own(one, stateId)));
    const adopted = await prepareAll(opened);
    return { state, targets: opened, epoch, adopted, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function makeState(
  spec: PipelineSpec,
  { pipeline, folders, clock, readOnly }: StoreOptions,
  url: string | undefined,
  shared: readonly MadeTarget[],
): Promise<SqliteState | PostgresState> {
  if (spec.state.postgres !== undefined && url !== undefined) {
    const lodgers = shared.flatMap((it) => (it.lodges === 'postgres' ? [it.target] : []));
    return new PostgresState({ url, schema: spec.state.postgres.schema, pipeline, readOnly, shared: lodgers });
  }
  const file = stateFile(spec, pipeline, folders);
  if (!readOnly) await mkdir(dirname(file), { recursive: true });
  const lodgers = shared.flatMap((it) => (it.lodges === 'sqlite' ? [it.target] : []));
  return new SqliteState({ file, clock, readOnly, shared: lodgers });
}

async function prepareAll(targets: readonly Target[]): Promise<Target[]> {
  const adopted: Target[] = [];
  for (const target of targets) if ((await target.prepare()) === 'adopted') adopted.push(target);
  return adopted;
}
