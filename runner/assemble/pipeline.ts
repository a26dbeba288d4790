// Puts a Pipeline together for an engine: state, targets, steps and sources, opened from their specs. The wiring of a runner pod and
// that of the local mode both call this, so that the same YAML means the same in both.
import { join } from 'node:path';
import type { LiveSourceSpec, PipelineSpec } from '../../crds/schema/index.ts';
import type { Clock } from '../clock.ts';
import type { PipelinePlan, SourcePlan, Step } from '../execute/index.ts';
import { type Hide, hiddenIn, type ReadSecret, Secrets } from '../secrets.ts';
import { openSource } from '../sources/index.ts';
import { openStepHost, type StepHost } from '../steps/index.ts';
import type { Folders } from './names.ts';
import { planOf } from './plan.ts';
import { forgetPushedTo, pushStoreOf } from './push-store.ts';
import { openStores, type StoreOptions, type Stores } from './stores.ts';

export interface AssembleOptions {
  /** Name of the Pipeline, unique where its rows go. */
  readonly pipeline: string;
  readonly spec: PipelineSpec;
  readonly sources: readonly NamedSource[];
  readonly folders: Folders;
  /** Where sources keep copies of what is elsewhere; default: `cache` in the Pipeline's home. */
  readonly cacheDir?: string;
  readonly clock: Clock;
  readonly secret: ReadSecret;
  readonly epoch: number | 'next';
  readonly onLost?: StoreOptions['onLost'];
  readonly opening?: StoreOptions['opening'];
  readonly readOnly?: boolean;
  /** One process stands for all classes of runner. */
  readonly ignoreClasses?: boolean;
  /** Threads for CPU-heavy steps; absent: what the machine or container allows. */
  readonly threads?: number;
}

export interface NamedSource {
  readonly name: string;
  readonly spec: LiveSourceSpec;
  /** Relative paths of its spec start here. */
  readonly base: string;
}

/** A Pipeline whose parts are open. */
export interface Assembly {
  readonly stores: Stores;
  readonly plan: PipelinePlan;
  readonly sources: ReadonlyMap<string, SourcePlan>;
  readonly steps: StepHost;
  /** Takes the values of its secrets out of a text. */
  readonly hide: Hide;
  /** A source, or the whole Pipeline, was dropped: what only its sources keep goes too. */
  forget(source: string | undefined): Promise<void>;
  /** Closes everything, the state last. */
  close(): Promise<void>;
}

export async function assemble(options: AssembleOptions): Promise<Assembly> {
  const open = new Opened();
  const secrets = new Secrets(options.secret);
  secrets.rememberVariables(process.env);
  try {
    return { ...(await assembleInto(open, { ...options, secret: secrets.read })), hide: secrets.hide };
  } catch (error) {
    await open.close();
    throw hiddenIn(error, secrets.hide);
  }
}

/** What was opened so far, to be closed in the opposite order. */
class Opened {
  readonly #closers: (() => Promise<void>)[] = [];

  add<T extends { close(): Promise<void> }>(part: T): T {
    this.#closers.push(() => part.close());
    return part;
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}

async function assembleInto(open: Opened, options: AssembleOptions): Promise<Omit<Assembly, 'hide'>> {
  const { pipeline, spec, folders, clock, secret, epoch, onLost, opening, threads } = options;
  const readOnly = options.readOnly ?? false;
  const stores = open.add(
    await openStores(spec, {
      pipeline,
      folders,
      clock,
      secret,
      readOnly,
      epoch,
      ...(onLost && { onLost }),
      ...(opening && { opening }),
    }),
  );
  const steps = open.add(
    openStepHost({ clock, secret, baseDir: folders.base, ...(threads !== undefined && { threads }) }),
  );
  const plan = await planOf(spec, {
    targets: stores.targets,
    ignoreClasses: options.ignoreClasses ?? false,
    openModule: (module) => steps.openModule(module),
    openStep: async (step, vectorDimensions): Promise<Step> => {
      const width = vectorDimensions === undefined ? {} : { vectorDimensions };
      return open.add(await steps.openStep(step, width));
    },
  });
  const sources = sourcePlans(open, options);
  const names = options.sources.map(({ name }) => name);
  const forget = (source: string | undefined) =>
    forgetPushedTo(source, { pipeline, spec, secret, keepDir: keepDirOf(folders), sources: names });
  return { stores, plan, sources, steps, forget, close: () => open.close() };
}

type SourceOptions = Pick<AssembleOptions, 'sources' | 'folders' | 'cacheDir' | 'clock' | 'secret'> &
  Partial<Pick<AssembleOptions, 'pipeline' | 'spec'>>;

/** Opens only the sources, for looking at what they list. */
export function openSources(options: SourceOptions): Pick<Assembly, 'sources' | 'hide' | 'close'> {
  const open = new Opened();
  const { read, hide } = new Secrets(options.secret);
  return { sources: sourcePlans(open, { ...options, secret: read }), hide, close: () => open.close() };
}

/** Of what sources keep for good. */
const keepDirOf = ({ home }: Folders): string => join(home, 'kept');

const sourcePlans = (open: Opened, options: SourceOptions): ReadonlyMap<string, SourcePlan> =>
  new Map(options.sources.map((source) => [source.name, sourcePlan(open, source, options)]));

function sourcePlan(open: Opened, { name, spec, base }: NamedSource, options: SourceOptions): SourcePlan {
  const { clock, secret, folders } = options;
  const cacheDir = options.cacheDir ?? join(folders.home, 'cache');
  const keepDir = keepDirOf(folders);
  const pushStore = spec.source.push && pushStoreOf(name, options);
  const places = { cacheDir, keepDir, baseDir: base, ...(pushStore && { pushStore }) };
  const source = open.add(openSource(spec.source, { name, clock, secret, ...places }));
  return { source, deleteGuard: spec.deleteGuard };
}
