// The embedders that need nothing but a worker thread: `hash` and `local`. Both cost less than a look into the memo.
import type { EmbedSpec } from '../../../crds/schema/index.ts';
import { StepError } from '../../sdk/index.ts';
import type { WorkerPool } from '../workers/pool.ts';
import type { Embedder } from './embedder.ts';
import { HASH_VERSION } from './hash.ts';
import type { HashTaskInput } from './hash-task.ts';
import type { LocalTaskInput } from './local-task.ts';
import { STATIC_MODEL, STATIC_MODEL_DIMENSIONS, STATIC_MODEL_VERSION } from './static-model.ts';

export function openHashEmbedder({ dimensions }: NonNullable<EmbedSpec['hash']>, pool: WorkerPool): Embedder {
  const inputOf = (texts: readonly string[]): HashTaskInput => ({ texts, dimensions });
  return threadEmbedder(`${HASH_VERSION}:${dimensions}`, dimensions, 'hash', inputOf, pool);
}

export function openLocalEmbedder(
  { model = STATIC_MODEL }: NonNullable<EmbedSpec['local']>,
  pool: WorkerPool,
): Embedder {
  if (model !== STATIC_MODEL) {
    throw new StepError('invalid', `embed.local: there is no model ${model}; ${STATIC_MODEL} ships with Fairlead`);
  }
  const identity = `local/${STATIC_MODEL}/${STATIC_MODEL_VERSION}`;
  const inputOf = (texts: readonly string[]): LocalTaskInput => ({ texts });
  return threadEmbedder(identity, STATIC_MODEL_DIMENSIONS, 'local', inputOf, pool);
}

function threadEmbedder(
  identity: string,
  dimensions: number,
  task: string,
  inputOf: (texts: readonly string[]) => unknown,
  pool: WorkerPool,
): Embedder {
  return {
    identity,
    remembers: false,
    dimensions,
    embed(texts, call) {
      const { item, signal } = call;
      const all = call.withCard(() => pool.run<Float32Array>(task, inputOf(texts), { label: item.key, signal }));
      return texts.map(async (_, i) => (await all).subarray(i * dimensions, (i + 1) * dimensions));
    },
    close: async () => undefined,
  };
}
