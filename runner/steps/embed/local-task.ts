// The task `local` of the worker threads. Each thread that is asked holds the model, some 10 MB.
import type { TaskResult } from '../workers/serve.ts';
import { StaticModel } from './static-model.ts';

export interface LocalTaskInput {
  readonly texts: readonly string[];
}

let model: Promise<StaticModel> | undefined;

export async function localTask({ texts }: LocalTaskInput): Promise<TaskResult> {
  model ??= StaticModel.load();
  const loaded = await model;
  const vectors = new Float32Array(texts.length * loaded.dimensions);
  for (const [i, text] of texts.entries()) loaded.embed(text, vectors, i * loaded.dimensions);
  return { value: vectors, transfer: [vectors.buffer] };
}
