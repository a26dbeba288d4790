// Which fields of this version an API server does not serve: it drops what older definitions do not know, and refuses a status that holds it.
import { z } from 'zod';
import type { KindName } from './group.ts';
import { liveSourceSpec } from './live-source.ts';
import { pipelineSpec } from './pipeline.ts';
import { liveSourceStatus, pipelineStatus } from './status.ts';

/** A node of an OpenAPI document, as far as it tells which fields there are. */
export interface ServedNode {
  readonly properties?: Readonly<Record<string, ServedNode>>;
  readonly items?: ServedNode;
  readonly additionalProperties?: ServedNode | boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
}

const OBJECTS: Readonly<Record<KindName, z.ZodType>> = {
  Pipeline: z.object({ spec: pipelineSpec, status: pipelineStatus }),
  LiveSource: z.object({ spec: liveSourceSpec, status: liveSourceStatus }),
};

/** Paths such as `spec.runners[].slots`; of a field that is missing as a whole only its own. Empty: all are served. */
export function missingFields(kind: KindName, served: ServedNode): string[] {
  const wanted = z.toJSONSchema(OBJECTS[kind], {
    target: 'openapi-3.0',
    io: 'input',
    reused: 'inline',
    unrepresentable: 'any',
  });
  return missing(wanted as ServedNode, served, '');
}

function missing(wanted: ServedNode, served: ServedNode, path: string): string[] {
  if (served['x-kubernetes-preserve-unknown-fields'] === true) return [];
  const fields = Object.entries(wanted.properties ?? {}).flatMap(([name, field]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const found = served.properties?.[name];
    return found === undefined ? [at] : missing(field, found, at);
  });
  const items = wanted.items === undefined ? [] : missing(wanted.items, served.items ?? {}, `${path}[]`);
  return [...fields, ...items];
}
