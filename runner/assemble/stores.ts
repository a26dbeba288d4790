// Opens the state and the targets that a Pipeline names.
import { dirname } from 'node:path';
import type { PipelineSpec } from '../../crds/schema/index.ts';
import { NothingIndexed } from '../database/index.ts';
import type { StateStore, Target } from '../execute/index.ts';
import { makeFolder } from '../folders.ts';
import { type Holder, PostgresState, SqliteState } from '../state/index.ts';
import { stateFile } from './names.ts';
import type { Part } from './opening.ts';
import { type MadeTarget, TargetMaker, type TargetOptions } from './targets.ts';
import { UnmadeTarget } from './unmade-target.ts';

export interface StoreOptions extends TargetOptions {
  /** Leadership epoch; `next` where nobody else leads. */
  readonly epoch: number | 'next';
  /** Told what is opened next, for whoever says why it failed. */
  readonly opening?: (part: Part) => void;
  /** A shared state is held against those that may not work beside this process; called once when it is lost to another one. */
  readonly onLost?: (holder: Holder | undefined) => void;
}

/** A state and its targets, open and prepared. */
export interface Stores {
  readonly state: StateStore;
  readonly targets: readonly Target[];
  /** Epoch that tokens must carry (`StateStore.open`). */
  readonly epoch: number;
  /** Targets that hold rows of a state that was lost; what no item claims in a whole cycle is to be swept. */
  readonly adopted: readonly Target[];
  /** Targets whose old rows are gone, or, where they were opened to be looked at, would go. */
  readonly rebuilt: readonly Target[];
  close(): Promise<void>;
}

/** Opens state and targets. Throws errors for people: what is refused, where, and what to do. */
export async function openStores(spec: PipelineSpec, options: StoreOptions): Promise<Stores> {
  const url = spec.state.postgres && (await options.secret(spec.state.postgres.urlFrom));
  const maker = new TargetMaker(spec, options, url);
  const shared = await maker.shared();
  const state = await makeState(spec, options, url, shared);
  options.opening?.('state');
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
    options.opening?.('target');
    const prepared = await prepareAll(opened, options.readOnly);
    const those = (how: Prepared) => prepared.flatMap((it) => (it.how === how ? [it.target] : []));
    return {
      state,
      targets: prepared.map(({ target }) => target),
      epoch,
      adopted: those('adopted'),
      rebuilt: those('rebuilt'),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function makeState(
  spec: PipelineSpec,
  { pipeline, folders, clock, readOnly, onLost }: StoreOptions,
  url: string | undefined,
  shared: readonly MadeTarget[],
): Promise<SqliteState | PostgresState> {
  if (spec.state.postgres !== undefined && url !== undefined) {
    const lodgers = shared.flatMap((it) => (it.lodges === 'postgres' ? [it.target] : []));
    const tenure = onLost && { clock, onLost };
    const { schema } = spec.state.postgres;
    return new PostgresState({ url, schema, pipeline, readOnly, shared: lodgers, ...(tenure && { tenure }) });
  }
  const file = stateFile(spec, pipeline, folders);
  if (!readOnly) makeFolder(dirname(file));
  const lodgers = shared.flatMap((it) => (it.lodges === 'sqlite' ? [it.target] : []));
  return new SqliteState({ file, clock, readOnly, shared: lodgers });
}

type Prepared = Awaited<ReturnType<Target['prepare']>>;

async function prepareAll(targets: readonly Target[], readOnly: boolean) {
  const prepared: { readonly target: Target; readonly how: Prepared }[] = [];
  for (const target of targets)
    try {
      prepared.push({ target, how: await target.prepare() });
    } catch (error) {
      if (!readOnly || !(error instanceof NothingIndexed)) throw error;
      prepared.push({ target: new UnmadeTarget(target, error), how: 'rebuilt' });
    }
  return prepared;
}
