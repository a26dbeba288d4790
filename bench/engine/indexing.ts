// An index of real files for benchmarks: the parts that the YAML of `examples/code-index` opens.
import { join } from 'node:path';
import { parseLiveSource, parsePipeline } from '../../crds/schema/index.ts';
import { type Assembly, assemble } from '../../runner/assemble/index.ts';
import { systemClock } from '../../runner/clock.ts';

const META = { apiVersion: 'fairlead.dev/v1alpha1', metadata: { name: 'files' } };
const DIMENSIONS = 384;

export interface IndexOptions {
  /** Folder of the files. */
  readonly files: string;
  /** Folder of embedded state and target. */
  readonly home: string;
  readonly by: 'code' | 'text';
  /** State and target live in this Postgres instead. */
  readonly url: string | undefined;
}

function pipelineOf({ by, url }: IndexOptions): object {
  const steps = [
    { read: { maxBytes: '1Mi', onTooLarge: 'Skip' } },
    { split: { by, chunkSize: 1200, overlap: 200 } },
    { embed: { hash: { dimensions: DIMENSIONS } } },
    { export: { target: 'chunks' } },
  ];
  const settings = { table: 'chunks', vector: { dimensions: DIMENSIONS } };
  const urlFrom = { secretKeyRef: { name: 'bench', key: 'url' } };
  const stored =
    url === undefined
      ? { state: { sqlite: {} }, targets: [{ name: 'chunks', sqlite: settings }] }
      : {
          state: { postgres: { urlFrom, schema: `bench_${by}` } },
          targets: [{ name: 'chunks', postgres: { ...settings, urlFrom, schema: `bench_${by}` } }],
        };
  return { ...META, kind: 'Pipeline', spec: { component: { steps }, ...stored } };
}

/** Opens it. */
export async function openIndex(options: IndexOptions): Promise<Assembly> {
  const { files, home, by, url } = options;
  const pipeline = parsePipeline(pipelineOf(options));
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
      if (url === undefined) throw new Error('the benchmark has no secrets');
      return url;
    },
    epoch: 'next',
    ignoreClasses: true,
  });
}
