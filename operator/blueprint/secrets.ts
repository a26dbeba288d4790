// Which Secrets a runner needs. Pods mount them; the operator never reads one.
import type { LiveSourceSpec, PipelineSpec } from '../../crds/schema/index.ts';

interface SecretKeyRef {
  readonly name: string;
  readonly key: string;
}

const isRef = (value: unknown): value is SecretKeyRef =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as SecretKeyRef).name === 'string' &&
  typeof (value as SecretKeyRef).key === 'string';

/** Names of all Secrets that a Pipeline and its LiveSources refer to, sorted, each once. */
export function secretNames(pipeline: PipelineSpec, sources: readonly LiveSourceSpec[]): string[] {
  const names = new Set<string>();
  // A pod template has its own references, which the kubelet resolves.
  const runners = pipeline.runners.map(({ template: _, ...rest }) => rest);
  collect({ ...pipeline, runners }, names);
  for (const source of sources) collect(source, names);
  return [...names].sort();
}

/** Entries of an array are its items, so one walk serves both. */
function collect(value: unknown, names: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    if (key === 'secretKeyRef' && isRef(member)) names.add(member.name);
    else collect(member, names);
  }
}
