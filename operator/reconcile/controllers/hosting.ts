// Makes the host of a Pipeline, and carries over to it what the objects say.
import { FINALIZER, type Inflight, type LiveSourceSpec, type PipelineSpec } from '../../../crds/schema/index.ts';
import { type EndedUpdate, type HostSpecs, PipelineHost, type SourcePast } from '../../host/index.ts';
import { pastOf, sourcePastOf } from '../objects/past.ts';
import { keyOf, type StoredObject } from '../ports.ts';
import { updateNote } from '../status/update-note.ts';
import type { ControlContext } from './context.ts';

type WishedSpecs = Omit<HostSpecs, 'generation'>;

export class Hosting {
  readonly #context: ControlContext;

  constructor(context: ControlContext) {
    this.#context = context;
  }

  /** LiveSources that take part: accepted, held by the finalizer, not being deleted. */
  sourcesOf(key: string): Map<string, LiveSourceSpec> {
    const sources = new Map<string, LiveSourceSpec>();
    for (const object of this.#context.caches.sourcesOf(key)) {
      const { name, deletionTimestamp, finalizers = [] } = object.metadata;
      const read = this.#context.sources.read(object);
      const before = this.#context.hosts.get(key)?.host.specs.sources.get(name);
      if (deletionTimestamp !== undefined || !finalizers.includes(FINALIZER)) continue;
      if (read.kind === 'read') sources.set(name, read.spec);
      else if (before !== undefined) sources.set(name, before); // what was accepted last goes on
    }
    return sources;
  }

  /** The host of a Pipeline, which follows the specs from now on. */
  follow(
    object: StoredObject,
    pipeline: PipelineSpec,
    { slotsMax, limits }: Inflight,
    sources: ReadonlyMap<string, LiveSourceSpec>,
  ): PipelineHost {
    const specs = { pipeline, slotsMax, limits, sources };
    const known = this.#context.hosts.get(keyOf(object));
    if (known === undefined) return this.#begin(object, specs);
    if (isChanged(known.host.specs, specs)) this.#apply(object, known.host, specs);
    return known.host;
  }

  #begin(object: StoredObject, specs: WishedSpecs): PipelineHost {
    const key = keyOf(object);
    const host = this.#open(object, { ...specs, generation: 1 });
    this.#context.hosts.set(key, { uid: object.metadata.uid ?? '', host });
    this.#context.hostOpened?.(key, object, host);
    host.start();
    this.#wakeSources(object, specs.sources.keys());
    return host;
  }

  #apply(object: StoredObject, host: PipelineHost, specs: WishedSpecs): void {
    const before = host.specs.sources;
    host.apply({ ...specs, generation: host.specs.generation + 1 });
    this.#context.specsChanged(keyOf(object));
    const added = [...specs.sources.keys()].filter((name) => !before.has(name));
    this.#wakeSources(object, added);
  }

  /** Their triggers and statuses waited for the host. */
  #wakeSources({ metadata }: StoredObject, names: Iterable<string>): void {
    for (const name of names) this.#context.wakeSource(`${metadata.namespace ?? 'default'}/${name}`);
  }

  #open(object: StoredObject, specs: HostSpecs): PipelineHost {
    const key = keyOf(object);
    const { namespace = 'default' } = object.metadata;
    const { clock, settings, defer, wakePipeline, wakeSource, demandChanged } = this.#context;
    const follower = this.#context.follow?.(key);
    const host = new PipelineHost({
      name: key,
      clock,
      epoch: settings.epoch,
      specs,
      ...(follower !== undefined && { follower }),
      ...(defer !== undefined && { defer }),
      past: (name) => this.#pastOf(object, specs, name),
      observer: {
        demandChanged: () => demandChanged(key),
        statusChanged: (name) => (name === undefined ? wakePipeline(key) : wakeSource(`${namespace}/${name}`)),
        updateEnded: (ended) => this.#note(key, namespace, ended),
      },
    });
    // An edit that came while nobody led: fingerprints say which items it concerns.
    if (isEdited(object)) host.want({ trigger: 'edit' });
    return host;
  }

  /** What earlier operators wrote into the status of a source, or of the Pipeline. */
  #pastOf(object: StoredObject, { sources }: HostSpecs, name: string | undefined): SourcePast | undefined {
    if (name === undefined) return pastOf(object.status as never);
    const source = this.#context.caches.source(`${object.metadata.namespace ?? 'default'}/${name}`);
    const spec = sources.get(name);
    if (source === undefined || spec === undefined) return undefined;
    return sourcePastOf(spec, source.status as never, isEdited(source), this.#context.random);
  }

  /** Tells of an update where it is seen with `kubectl describe`: on its LiveSource, or on the Pipeline. */
  #note(key: string, namespace: string, ended: EndedUpdate): void {
    const { caches, notes } = this.#context;
    const note = updateNote(ended);
    const { source } = ended.record;
    const object = source === undefined ? caches.pipeline(key) : caches.source(`${namespace}/${source}`);
    if (note !== undefined && object !== undefined) notes.record(object, note);
  }
}

/** Whether the spec changed since a status was written. */
export function isEdited({ metadata, status }: StoredObject): boolean {
  const { observedGeneration } = (status ?? {}) as { observedGeneration?: number };
  return observedGeneration !== undefined && observedGeneration < (metadata.generation ?? 0);
}

function isChanged(before: HostSpecs, now: WishedSpecs): boolean {
  if (before.pipeline !== now.pipeline || before.slotsMax !== now.slotsMax) return true;
  if (before.sources.size !== now.sources.size) return true;
  for (const [name, spec] of now.sources) if (before.sources.get(name) !== spec) return true;
  return false;
}
