// Specs of the smallest objects that are accepted, with what a test changes in them.
import { type LiveSourceSpec, type PipelineSpec, parseLiveSource, parsePipeline } from '../../crds/schema/index.ts';
import { MINIMAL_PIPELINE, MINIMAL_SOURCE } from '../crds/objects.ts';

export function pipelineSpec(changes: object = {}): PipelineSpec {
  const read = parsePipeline({ ...MINIMAL_PIPELINE, spec: { ...(MINIMAL_PIPELINE.spec as object), ...changes } });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.value.spec;
}

export function sourceSpec(changes: object = {}): LiveSourceSpec {
  const read = parseLiveSource({ ...MINIMAL_SOURCE, spec: { ...(MINIMAL_SOURCE.spec as object), ...changes } });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.value.spec;
}
