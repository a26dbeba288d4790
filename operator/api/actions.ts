// What people ask of an operator outside a cluster. In a cluster the same wishes are annotations and fields of the objects.
import type { HostSpecs, PipelineHost } from '../host/index.ts';

export type ActionName = 'refresh' | 'reprocess' | 'suspend' | 'resume' | 'release-quarantined';

export interface Action {
  readonly action: ActionName;
  /** LiveSource; absent: all of the Pipeline. */
  readonly source?: string;
  readonly allowDeletes?: boolean;
}

export type ActionAnswer =
  | { readonly kind: 'done'; readonly says: string }
  | { readonly kind: 'refused'; readonly why: string };

const ACTIONS: readonly ActionName[] = ['refresh', 'reprocess', 'suspend', 'resume', 'release-quarantined'];

/** Reads what a program sent; a string says what is wrong with it. */
export function parseAction(body: unknown): Action | string {
  if (typeof body !== 'object' || body === null) return 'the body must be an object such as {"action": "refresh"}';
  const { action, source, allowDeletes } = body as Record<string, unknown>;
  const known = ACTIONS.find((name) => name === action);
  if (known === undefined) return `action must be one of ${ACTIONS.join(', ')}`;
  if (source !== undefined && typeof source !== 'string') return 'source must be the name of a LiveSource';
  if (allowDeletes !== undefined && typeof allowDeletes !== 'boolean') return 'allowDeletes must be true or false';
  return { action: known, ...(source !== undefined && { source }), ...(allowDeletes === true && { allowDeletes }) };
}

/** A Pipeline at work that takes wishes. */
export interface Actable extends Pick<PipelineHost, 'name' | 'wantCycle'> {
  readonly specs: HostSpecs;
  apply(specs: HostSpecs): void;
}

/** Carries out a wish on a Pipeline. */
export function actOn(host: Actable, { action, source, allowDeletes }: Action): ActionAnswer {
  if (source !== undefined && !host.specs.sources.has(source))
    return { kind: 'refused', why: `${host.name} has no LiveSource ${source}` };
  if (action === 'suspend' || action === 'resume') return setSuspended(host, source, action === 'suspend');
  const wish = {
    trigger: 'manual',
    ...(action === 'reprocess' && { reprocess: true }),
    ...(action === 'release-quarantined' && { releaseQuarantined: true }),
    ...(allowDeletes === true && { allowDeletes }),
  };
  const sources = source === undefined ? [...host.specs.sources.keys()] : [source];
  for (const name of sources) host.wantCycle(name, wish);
  return { kind: 'done', says: `asked for a cycle of ${sources.join(', ') || 'no LiveSource: there is none'}` };
}

/** Holds until the process starts again: the objects' own `spec.suspend` is what lasts. */
function setSuspended(host: Actable, source: string | undefined, suspend: boolean): ActionAnswer {
  const { specs } = host;
  const generation = specs.generation + 1;
  const spec = source === undefined ? undefined : specs.sources.get(source);
  if (source === undefined) host.apply({ ...specs, generation, pipeline: { ...specs.pipeline, suspend } });
  else if (spec !== undefined)
    host.apply({ ...specs, generation, sources: new Map(specs.sources).set(source, { ...spec, suspend }) });
  const what = source === undefined ? `Pipeline ${host.name}` : `LiveSource ${source}`;
  const how = suspend ? 'is suspended: nothing new starts' : 'goes on';
  return { kind: 'done', says: `${what} ${how}, until this process starts again; spec.suspend in its file lasts` };
}
