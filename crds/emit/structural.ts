// A zod schema as a structural schema of a CRD.
// Owns:   the translation, and stripping what the API server refuses under fieldValidation=Strict.
// Leaves: whether the result is good to `lint`; what zod has no structural form for to the schema's `crd` and `x-kubernetes-*` metadata.
import { z } from 'zod';

/** A node of the emitted schema. */
export interface SchemaNode {
  [keyword: string]: unknown;
  properties?: Record<string, SchemaNode>;
  items?: SchemaNode;
  additionalProperties?: SchemaNode | boolean;
}

/** Refused under Strict, or without meaning in a CRD. */
const DROPPED = [
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'contentEncoding',
  'contentMediaType',
  'propertyNames',
];

/** Formats that the API server checks; another one is a warning and checks nothing. */
const FORMATS = new Set(['date-time', 'int64']);

export function toStructural(schema: z.ZodType): SchemaNode {
  const node = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input', // else fields with defaults become required
    reused: 'inline',
    cycles: 'throw',
    unrepresentable: 'throw',
    override: ({ jsonSchema }) => replaceByCrd(jsonSchema as SchemaNode),
  }) as SchemaNode;
  walk(node);
  return node;
}

/** The `crd` key of a node's metadata stands for all of its structure; description, default and rules stay. */
function replaceByCrd(node: SchemaNode): void {
  const crd = node.crd;
  if (typeof crd !== 'object' || crd === null) return;
  const kept = Object.entries(node).filter(
    ([keyword]) => keyword === 'description' || keyword === 'default' || keyword.startsWith('x-kubernetes-'),
  );
  for (const keyword of Object.keys(node)) delete node[keyword];
  Object.assign(node, Object.fromEntries(kept), crd);
}

function walk(node: SchemaNode): void {
  for (const keyword of DROPPED) delete node[keyword];
  if (node.properties && node.additionalProperties === false) delete node.additionalProperties; // the server drops unknown fields itself
  if (node.type === 'integer' && node.enum === undefined) node.format = 'int64';
  if (typeof node.format === 'string' && !FORMATS.has(node.format)) delete node.format;
  for (const child of childrenOf(node)) walk(child.node);
}

/** The nodes directly below, each with the end of its path. */
export function childrenOf(node: SchemaNode): { readonly key: string; readonly node: SchemaNode }[] {
  const below = Object.entries(node.properties ?? {}).map(([key, child]) => ({ key: `.${key}`, node: child }));
  if (node.items) below.push({ key: '[]', node: node.items });
  if (typeof node.additionalProperties === 'object') below.push({ key: '.*', node: node.additionalProperties });
  return below;
}
