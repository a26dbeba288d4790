// An index of real files in the embedded state and target, for benchmarks: the parts that the YAML of `examples/code-index` opens.
import { join } from 'node:path';
import { parseLiveSource, parsePipeline } from '../../crds/schema/index.ts';
import { type Assembly, assemble } from '../../runner/assemble/index.ts';
import { systemClock } from '../../runner/clock.ts';

const META = { apiVersion: 'fairlead.dev/v1alpha1', metadata: { name: 'files' } };

function pipelineOf(by: 'code' | 'text'): object {
  const steps = [
    { read: { maxBytes: '1Mi', onTooLarge: 'Skip' } },
    { split: { by, chunkSize: 1200, overlap: 200 } },
    { embed: { hash: { dimensions: 384 } } },
    { export: { target: 'chunks' } },
  ];
  const targets = [{ name: 'chunks', sqlite: { table: 'chunks', vector: { dimensions: 384 } } }];
  return { ...META, kind: 'Pipeline', spec: { state: { sqlite: {} }, component: { steps }, targets } };
}

/** Opens it over `files`, with its state below `home`. */
export async function openIndex(files: string, home: string, by: 'code' | 'text'): Promise<Assembly> {
  const pipeline = parsePipeline(pipelineOf(by));
  const source = parseLiveSource({
    ...META,
    kind: 'LiveSource',
    spec: { pipelineRef: { name: 'files' }, source: { directory: { path: files } }, mode: 'Watch' },
  });
  if (!pipeline.ok) throw new Error(JSON.stringify(pipeline.problems));
  if (!source.ok) throw new Error(JSON.stringify(source.problems));
  return assemble({
    pipeline: 'files',
    spec: pipeline.value.spec,
    sources: [{ name: 'files', spec: source.value.spec, base: files }],
    folders: { base: home, home: join(home, by) },
    clock: systemClock,
    secret: async () => {
      throw new Error('the benchmark has no secrets');
    },
    epoch: 'next',
    ignoreClasses: true,
  });
}
