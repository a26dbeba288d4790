// A run's context as the engine gives it to steps, with everything within reach of the test.
import { type EmbedSpec, pipelineSpec, type StepSpec } from '../../crds/schema/index.ts';
import { systemClock } from '../../runner/clock.ts';
import type { StepContext } from '../../runner/execute/index.ts';
import { openStepHost, type StepHost, type StepHostOptions } from '../../runner/steps/index.ts';

export interface TestContext extends StepContext {
  readonly notes: string[];
  /** What was remembered, by key. */
  readonly remembered: Map<string, Uint8Array>;
}

/** A context of one item. Its memo starts empty and keeps what steps put. */
export function contextOf(
  key: string,
  content: string | Uint8Array = '',
  options: { signal?: AbortSignal; reprocess?: boolean; remembered?: Map<string, Uint8Array> } = {},
): TestContext {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const remembered = options.remembered ?? new Map<string, Uint8Array>();
  const notes: string[] = [];
  return {
    item: { source: 'docs', key, version: 'v1', sizeBytes: bytes.byteLength },
    signal: options.signal ?? new AbortController().signal,
    reprocess: options.reprocess ?? false,
    content: async () => ({ version: 'v1', bytes }),
    memo: {
      get: async (keys) => keys.map((known) => remembered.get(known)),
      put: (entries) => {
        for (const entry of entries) remembered.set(entry.key, entry.value);
      },
    },
    note: (text) => {
      notes.push(text);
    },
    update: 'update',
    withCard: (body) => body(undefined),
    notes,
    remembered,
  };
}

/** A step as the API server or `fairlead validate` passes it on: defaults filled in. Throws what they would say. */
export function stepSpec(step: object): StepSpec {
  const spec = pipelineSpec.parse({
    runners: [{ name: 'gpu', gpus: 1 }],
    component: { steps: [step] },
    targets: [{ name: 'rows', jsonl: { path: '/tmp/rows.jsonl' } }],
  });
  return spec.component.steps[0]!;
}

export function embedSpec(embed: object): EmbedSpec {
  return stepSpec({ embed }).embed!;
}

/** Steps of a process with one thread and no secrets. */
export function openHost(options: Partial<StepHostOptions> = {}): StepHost {
  const secret = () => Promise.reject(new Error('the test has no such secret'));
  return openStepHost({
    clock: systemClock,
    secret,
    threads: 1,
    baseDir: import.meta.dirname,
    env: { PATH: process.env.PATH },
    ...options,
  });
}

/** Until something holds that real input and output bring about; the test's own time limit is the bound. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise<void>((resolve) => setImmediate(resolve));
}
