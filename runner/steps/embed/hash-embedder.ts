// The embedder `hash` on worker threads.
import type { WorkerPool } from '../workers/pool.ts';
import type { Embedder } from './embedder.ts';
import { HASH_VERSION } from './hash.ts';
import type { HashTaskInput } from './hash-task.ts';

export function openHashEmbedder(spec: { readonly dimensions: number }, pool: WorkerPool): Embedder {
  const { dimensions } = spec;
  return {
    identity: `${HASH_VERSION}:${dimensions}`,
    remembers: false,
    dimensions,
    embed(texts, call) {
      const input: HashTaskInput = { texts, dimensions };
      const all = pool.run<Float32Array>('hash', input, { label: call.item.key, signal: call.signal });
      return texts.map(async (_, i) => (await all).subarray(i * dimensions, (i + 1) * dimensions));
    },
    close: async () => undefined,
  };
}
