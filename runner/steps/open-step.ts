// The steps of a process: what they share (threads, endpoints), and from a step's spec to the step.
import {
  DEFAULT_STEP_TIMEOUT,
  durationMs,
  type EmbedSpec,
  type ModuleSpec,
  type StepSpec,
} from '../../crds/schema/index.ts';
import type { Clock } from '../clock.ts';
import type { Step, UserModule } from '../execute/index.ts';
import { StepError } from '../sdk/index.ts';
import { type ReadSecret, Secrets } from '../secrets.ts';
import { openEmbed } from './embed/embed-step.ts';
import type { Embedder } from './embed/embedder.ts';
import { OpenaiEmbedder } from './embed/openai-embedder.ts';
import { openHashEmbedder, openLocalEmbedder } from './embed/thread-embedder.ts';
import { Endpoints } from './endpoint/endpoint.ts';
import { type ExecDeps, openExec } from './exec/exec-step.ts';
import { openExtract } from './extract/extract-step.ts';
import { ModuleLoader, modulePath } from './module/load.ts';
import { openRead } from './read/read-step.ts';
import { openSplit } from './split/split-step.ts';
import { openWorkerPool, type WorkerPool } from './workers/pool.ts';

export interface StepHostOptions {
  readonly clock: Clock;
  readonly secret: ReadSecret;
  /** Where relative paths of `exec` begin; default: the working directory of the process. */
  readonly baseDir?: string;
  /** Environment that programs of `exec` inherit; default: that of the process. */
  readonly env?: { readonly [name: string]: string | undefined };
  /** Threads for CPU-heavy steps at most; default: what the CPU limit allows. */
  readonly threads?: number;
}

export interface StepOptions {
  /** Width of the vectors that the Pipeline's targets store, where one says; an embedder of another width is refused. */
  readonly vectorDimensions?: number;
}

/** A parsed step that this room implements: `forEach` and `export` belong to the engine, `module` is opened by `openModule`. */
export type OwnStepSpec = Pick<StepSpec, 'read' | 'split' | 'embed' | 'extract' | 'exec' | 'batch' | 'gpu' | 'timeout'>;

/** Embeds the text of a query as a Pipeline embeds its rows. */
export interface QueryEmbedder {
  readonly dimensions: number | undefined;
  embed(text: string, signal: AbortSignal): Promise<Float32Array>;
  /** Several texts at once; none may be blank. */
  embedAll(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** All steps of one process come from here, so that they share threads, connections and rates. */
export interface StepHost {
  /** Opens a step of this room. Throws StepError (`invalid`) for a spec that cannot work. */
  openStep(spec: OwnStepSpec, options?: StepOptions): Promise<Step>;
  /** Loads a module of user code. Throws StepError (`invalid`) for one that cannot be loaded or lacks the function. */
  openModule(spec: ModuleSpec): Promise<UserModule>;
  openQueryEmbedder(spec: EmbedSpec, options?: StepOptions): Promise<QueryEmbedder>;
  /** How many runners keep to the endpoints' rates together; 1 at first. */
  shareRates(runners: number): void;
  /** Ends the threads; steps are closed by whoever opened them. */
  close(): Promise<void>;
}

export function openStepHost(options: StepHostOptions): StepHost {
  const pool = openWorkerPool({
    clock: options.clock,
    ...(options.threads === undefined ? {} : { threads: options.threads }),
  });
  const { clock, secret, baseDir = process.cwd(), env = process.env } = options;
  const secrets = new Secrets(secret);
  const shared: Shared = {
    pool,
    endpoints: new Endpoints({ clock, secrets }),
    exec: { clock, secrets, baseDir, env },
  };
  let loader: ModuleLoader | undefined;
  return {
    openStep: (spec, own = {}) => openStep(spec, shared, own),
    openModule: ({ path, entry }) => {
      loader ??= new ModuleLoader();
      return loader.open(modulePath(baseDir, path), entry);
    },
    openQueryEmbedder: (spec, own = {}) => openQueryEmbedder(spec, shared, own),
    shareRates: (runners) => shared.endpoints.share(runners),
    close: () => {
      loader?.close();
      return pool.close();
    },
  };
}

interface Shared {
  readonly pool: WorkerPool;
  readonly endpoints: Endpoints;
  readonly exec: ExecDeps;
}

async function openStep(spec: OwnStepSpec, shared: Shared, options: StepOptions): Promise<Step> {
  if (spec.read !== undefined) return openRead(spec.read);
  if (spec.split !== undefined) return openSplit(spec.split, shared.pool);
  if (spec.embed !== undefined) return openEmbed(spec.embed, await openEmbedder(spec.embed, spec, shared, options));
  if (spec.extract?.openai !== undefined) {
    const server = spec.extract.openai;
    const settings = { spec: spec.extract, server, gpu: spec.gpu !== undefined, timeoutMs: attemptMs(spec) };
    return openExtract(settings, shared.endpoints.open(server));
  }
  if (spec.exec !== undefined) {
    // A single call may take the whole attempt; a batch leaves time for its halves.
    const timeoutMs = spec.batch === undefined ? attemptMs(spec) : Math.ceil(attemptMs(spec) / 2);
    return openExec({ spec: spec.exec, batch: spec.batch, gpu: spec.gpu !== undefined, timeoutMs }, shared.exec);
  }
  throw new StepError(
    'invalid',
    `a step needs one of read, split, embed, extract, exec; it has ${Object.keys(spec).join(', ')}`,
  );
}

type CommonSpec = Pick<OwnStepSpec, 'batch' | 'gpu' | 'timeout'>;

/** A request must end well before the attempt does, so that a batch that timed out can be tried in halves. */
const requestTimeoutMs = (spec: CommonSpec): number => Math.min(60_000, Math.ceil(attemptMs(spec) / 5));

const attemptMs = (spec: CommonSpec): number => durationMs(spec.timeout ?? DEFAULT_STEP_TIMEOUT);

async function openEmbedder(
  spec: EmbedSpec,
  common: CommonSpec,
  shared: Shared,
  options: StepOptions,
): Promise<Embedder> {
  const embedder = await embedderOf(spec, common, shared, options);
  const want = options.vectorDimensions;
  if (want !== undefined && embedder.dimensions !== undefined && embedder.dimensions !== want) {
    await embedder.close();
    throw new StepError(
      'invalid',
      `embed makes vectors of ${embedder.dimensions} dimensions, but the target stores ${want}: set the same on both`,
    );
  }
  return embedder;
}

async function embedderOf(
  spec: EmbedSpec,
  common: CommonSpec,
  { pool, endpoints }: Shared,
  options: StepOptions,
): Promise<Embedder> {
  if (spec.hash !== undefined) return openHashEmbedder(spec.hash, pool);
  if (spec.local !== undefined) return openLocalEmbedder(spec.local, pool);
  if (spec.openai !== undefined) {
    const dimensions = spec.openai.dimensions ?? options.vectorDimensions;
    const { batch, gpu } = common;
    const timeoutMs = requestTimeoutMs(common);
    const settings = { spec: spec.openai, batch, gpu: gpu !== undefined, timeoutMs, dimensions };
    return new OpenaiEmbedder(settings, endpoints.open(spec.openai));
  }
  throw new StepError('invalid', 'embed needs exactly one of hash, local and openai');
}

async function openQueryEmbedder(spec: EmbedSpec, shared: Shared, options: StepOptions): Promise<QueryEmbedder> {
  const embedder = await openEmbedder(spec, {}, shared, options);
  const item = { source: '', key: 'the query', version: '' };
  const prefix = spec.queryPrefix ?? '';
  const embedAll = (texts: readonly string[], signal: AbortSignal) => {
    const update = 'a query';
    const call = { item, signal, update, withCard: <T>(body: (cards: undefined) => Promise<T>) => body(undefined) };
    return Promise.all(
      embedder.embed(
        texts.map((text) => prefix + text),
        call,
      ),
    );
  };
  return {
    dimensions: embedder.dimensions,
    embed: async (text, signal) => (await embedAll([text], signal))[0]!,
    embedAll,
    close: () => embedder.close(),
  };
}
