// A worker thread whose tasks do all that a task can do wrong.
import { threadId } from 'node:worker_threads';
import { StepError } from '../../../runner/sdk/index.ts';
import { serve } from '../../../runner/steps/workers/serve.ts';

function arrive(shared: Int32Array): void {
  Atomics.add(shared, 0, 1);
  Atomics.notify(shared, 0);
}

function waitFor(shared: Int32Array, count: number): void {
  for (let seen = Atomics.load(shared, 0); seen < count; seen = Atomics.load(shared, 0)) Atomics.wait(shared, 0, seen);
}

serve({
  echo: async () => (input: unknown) => ({ value: input }),
  thread: async () => () => ({ value: threadId }),
  crash: async () => () => process.exit(7),
  retire: async () => (input: unknown) => ({ value: input, retire: true }),
  refuse: async () => (input: string) => {
    throw new StepError('invalid', `${input} is refused`);
  },
  grow: async () => () => {
    const kept: number[][] = [];
    for (;;) kept.push(new Array(100_000).fill(kept.length));
  },
  stuck: async () => (shared: Int32Array) => {
    arrive(shared);
    for (;;);
  },
  wait: async () => (shared: Int32Array) => {
    arrive(shared);
    waitFor(shared, 2);
    return { value: 'woken' };
  },
  meet: async () => (shared: Int32Array) => {
    arrive(shared);
    waitFor(shared, 2);
    return { value: 'met' };
  },
});
