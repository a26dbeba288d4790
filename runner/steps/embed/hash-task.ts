// The task `hash` of the worker threads.
import type { TaskResult } from '../workers/serve.ts';
import { hashTexts } from './hash.ts';

export interface HashTaskInput {
  readonly texts: readonly string[];
  readonly dimensions: number;
}

export function hashTask(input: HashTaskInput): TaskResult {
  const vectors = hashTexts(input.texts, input.dimensions);
  return { value: vectors, transfer: [vectors.buffer] };
}
