// From a step's spec to the step.
import type { EmbedSpec, StepSpec } from '../../crds/schema/index.ts';
import type { Step } from '../execute/index.ts';
import { StepError } from '../sdk/index.ts';
import { openEmbed } from './embed/embed-step.ts';
import type { Embedder } from './embed/embedder.ts';
import { openHashEmbedder } from './embed/hash-embedder.ts';
import { openRead } from './read/read-step.ts';
import { openSplit } from './split/split-step.ts';
import type { WorkerPool } from './workers/pool.ts';

/** What steps need from the process that they run in. One for all steps of a runner. */
export interface StepDeps {
  readonly pool: WorkerPool;
  /** Width of the vectors that the Pipeline's targets store, where one says; an embedder of another width is refused. */
  readonly vectorDimensions?: number;
}

/** A parsed step that this room implements: `forEach`, `module` and `export` belong to the engine. */
export type OwnStepSpec = Pick<StepSpec, 'read' | 'split' | 'embed'>;

/** Opens a step of this room. Throws StepError (`invalid`) for a spec that cannot work. */
export async function openStep(spec: OwnStepSpec, deps: StepDeps): Promise<Step> {
  if (spec.read !== undefined) return openRead(spec.read);
  if (spec.split !== undefined) return openSplit(spec.split, deps.pool);
  if (spec.embed !== undefined) return openEmbed(spec.embed, await openEmbedder(spec.embed, deps));
  throw new StepError('invalid', `a step needs one of read, split, embed; it has ${Object.keys(spec).join(', ')}`);
}

/** Opens an embedder by itself, without the step around it. */
export async function openEmbedder(spec: EmbedSpec, deps: StepDeps): Promise<Embedder> {
  const embedder = await embedderOf(spec, deps);
  const want = deps.vectorDimensions;
  if (want !== undefined && embedder.dimensions !== undefined && embedder.dimensions !== want) {
    await embedder.close();
    throw new StepError(
      'invalid',
      `embed makes vectors of ${embedder.dimensions} dimensions, but the target stores ${want}: set the same on both`,
    );
  }
  return embedder;
}

async function embedderOf(spec: EmbedSpec, deps: StepDeps): Promise<Embedder> {
  if (spec.hash !== undefined) return openHashEmbedder(spec.hash, deps.pool);
  throw new StepError('invalid', 'embed needs exactly one of hash, local and openai');
}

/** Embeds the text of a query as the Pipeline embeds its rows; `close` it after use. */
export async function openQueryEmbedder(
  spec: EmbedSpec,
  deps: StepDeps,
): Promise<{ embed(text: string, signal: AbortSignal): Promise<Float32Array>; close(): Promise<void> }> {
  const embedder = await openEmbedder(spec, deps);
  const item = { source: '', key: 'the query', version: '' };
  return {
    async embed(text, signal) {
      const call = { item, signal, withCard: <T>(body: (cards: undefined) => Promise<T>) => body(undefined) };
      const [vector] = await embedder.embed([`${spec.queryPrefix ?? ''}${text}`], call);
      if (vector === undefined) throw new StepError('internal', 'embed: no vector came back for the query');
      return vector;
    },
    close: () => embedder.close(),
  };
}
