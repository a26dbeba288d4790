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

/** Finds the Secrets of specs. Specs do not change, so each is walked once: a Pipeline is looked at far more often than edited. */
export class SecretNames {
  readonly #known = new WeakMap<object, readonly string[]>();

  /** Names of all Secrets that a Pipeline and its LiveSources refer to, sorted, each once. */
  of(pipeline: PipelineSpec, sources: Iterable<LiveSourceSpec>): string[] {
    const names = new Set(this.#known.get(pipeline) ?? this.#remembered(pipeline, withoutTemplates(pipeline)));
    for (const source of sources)
      for (const name of this.#known.get(source) ?? this.#remembered(source, source)) names.add(name);
    return [...names].sort();
  }

  #remembered(spec: object, looked: object): readonly string[] {
    const names = new Set<string>();
    collect(looked, names);
    const found = [...names];
    this.#known.set(spec, found);
    return found;
  }
}

/** A pod template has its own references, which the kubelet resolves. */
function withoutTemplates(pipeline: PipelineSpec): object {
  return { ...pipeline, runners: pipeline.runners.map(({ template: _, ...rest }) => rest) };
}

/** Entries of an array are its items, so one walk serves both. */
function collect(value: unknown, names: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    if (key === 'secretKeyRef' && isRef(member)) names.add(member.name);
    else collect(member, names);
  }
}
