// The CustomResourceDefinitions: schema, printer columns, names.
import type { z } from 'zod';
import {
  CATEGORY,
  GROUP,
  isName,
  KINDS,
  type KindName,
  liveSourceSpec,
  liveSourceStatus,
  pipelineSpec,
  pipelineStatus,
  type Rule,
  VERSION,
  validations,
} from '../schema/index.ts';
import { lint } from './lint.ts';
import { type SchemaNode, toStructural } from './structural.ts';

export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /** 1: only with -o wide. */
  readonly priority?: 1;
}

export interface Crd {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

interface KindOfObject {
  readonly name: KindName;
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  readonly rules: readonly Rule[];
  readonly columns: readonly Column[];
  readonly selectable: readonly string[];
}

const condition = (type: string, field: 'status' | 'reason') => `.status.conditions[?(@.type=="${type}")].${field}`;

const READY: Column = {
  name: 'Ready',
  type: 'string',
  jsonPath: condition('Ready', 'status'),
  description: 'Whether the index can follow its sources',
};

/** Columns that both kinds have; the last one is Kubernetes' own habit. */
const COUNTS: readonly Column[] = [
  { name: 'Held', type: 'integer', jsonPath: '.status.slots.held', description: 'Slots that executing runs hold' },
  { name: 'Waiting', type: 'integer', jsonPath: '.status.slots.waiting', description: 'Runs that wait' },
  { name: 'Cards', type: 'string', jsonPath: '.status.cards.summary', description: 'Cards held, of those there are' },
  {
    name: 'Freshness',
    type: 'date',
    jsonPath: '.status.freshness.oldestChangeAt',
    description: 'Age of the oldest source change that the targets do not show yet; empty: they show all',
  },
  { name: 'Items', type: 'string', jsonPath: '.status.items.summary', description: 'Items done, of those known' },
];
const AGE: Column = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since creation',
};
const WIDE: readonly Column[] = [
  {
    name: 'Reason',
    type: 'string',
    jsonPath: condition('Ready', 'reason'),
    description: 'Why it is ready or not',
    priority: 1,
  },
  {
    name: 'Suspended',
    type: 'boolean',
    jsonPath: '.spec.suspend',
    description: 'Whether it starts nothing',
    priority: 1,
  },
];

const OBJECTS: readonly KindOfObject[] = [
  {
    name: 'Pipeline',
    description:
      'A Pipeline says what to do with each item of its sources, with what, and where rows go. LiveSources of the same namespace feed it.',
    spec: pipelineSpec,
    status: pipelineStatus,
    rules: [isName],
    columns: [
      READY,
      ...COUNTS,
      ...WIDE,
      { name: 'Slots', type: 'integer', jsonPath: '.status.slots.limit', description: 'Slots in force', priority: 1 },
      {
        name: 'Sources',
        type: 'integer',
        jsonPath: '.status.sources',
        description: 'LiveSources that feed it',
        priority: 1,
      },
      AGE,
    ],
    selectable: ['.spec.suspend', '.spec.deletionPolicy'],
  },
  {
    name: 'LiveSource',
    description: 'A LiveSource says what to watch and when. It feeds one Pipeline of its namespace.',
    spec: liveSourceSpec,
    status: liveSourceStatus,
    rules: [isName],
    columns: [
      READY,
      ...COUNTS,
      ...WIDE,
      {
        name: 'Pipeline',
        type: 'string',
        jsonPath: '.spec.pipelineRef.name',
        description: 'Pipeline that it feeds',
        priority: 1,
      },
      { name: 'Kind', type: 'string', jsonPath: '.status.kind', description: 'Kind of source', priority: 1 },
      {
        name: 'Last cycle',
        type: 'date',
        jsonPath: '.status.lastCycleAt',
        description: 'Time since the last whole listing began',
        priority: 1,
      },
      AGE,
    ],
    selectable: ['.spec.pipelineRef.name', '.spec.mode', '.spec.suspend'],
  },
];

/** The CRDs of all kinds. Throws with every fault that the API server would have found, and some that it would not. */
export function emitCrds(): Crd[] {
  return OBJECTS.map(emitCrd);
}

/** Columns of `kubectl get`. */
export const columnsOf = (name: KindName): readonly Column[] => kindOf(name).columns;

function kindOf(name: KindName): KindOfObject {
  const kind = OBJECTS.find((one) => one.name === name);
  if (kind === undefined) throw new Error(`there is no kind ${name}`);
  return kind;
}

/** Schema of a kind's objects, `spec` and `status` in structural form. */
export const schemaOf = (name: KindName): SchemaNode => rootSchema(kindOf(name));

function emitCrd(kind: KindOfObject): Crd {
  const names = KINDS[kind.name];
  const schema = rootSchema(kind);
  const faults = Object.entries(schema.properties ?? {})
    .filter(([key]) => key === 'spec' || key === 'status')
    .flatMap(([key, node]) => lint(node, `${kind.name}.${key}`));
  if (faults.length > 0) throw new Error(`the schema cannot be a CRD:\n${faults.join('\n')}`);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: {
        kind: names.kind,
        listKind: `${names.kind}List`,
        plural: names.plural,
        singular: names.kind.toLowerCase(),
        shortNames: names.shortNames,
        categories: [CATEGORY],
      },
      versions: [versionOf(kind, schema)],
    },
  };
}

const versionOf = (kind: KindOfObject, schema: SchemaNode) => ({
  name: VERSION,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  subresources: { status: {} },
  additionalPrinterColumns: kind.columns,
  selectableFields: kind.selectable.map((jsonPath) => ({ jsonPath })),
});

const rootSchema = (kind: KindOfObject): SchemaNode => ({
  type: 'object',
  description: kind.description,
  required: ['spec'],
  properties: {
    apiVersion: { type: 'string', description: `Version of the schema: ${GROUP}/${VERSION}.` },
    kind: { type: 'string', description: `Kind of the object: ${kind.name}.` },
    metadata: { type: 'object' },
    spec: toStructural(kind.spec),
    status: toStructural(kind.status),
  },
  'x-kubernetes-validations': validations(kind.rules),
});
