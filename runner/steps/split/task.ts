// The task `split` of the worker threads.
import type { TaskResult } from '../workers/serve.ts';
import { type SplitInput, splitText } from './split-text.ts';

export interface SplitTaskInput extends SplitInput {
  readonly text: string;
}

export async function splitTask(input: SplitTaskInput): Promise<TaskResult> {
  const { places, broken } = await splitText(input.text, input);
  return { value: places, transfer: [places.buffer], retire: broken };
}
