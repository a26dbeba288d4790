// What a CRD's schema must be, checked on the final JSON. Each rule stands for a refusal, a warning or a silent hole of a real API server.
import { RE2JS } from 're2js';
import { childrenOf, type SchemaNode } from './structural.ts';

const KEYWORDS = new Set([
  'type',
  'description',
  'default',
  'enum',
  'nullable',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'items',
  'properties',
  'required',
  'additionalProperties',
  'anyOf',
]);

const MAX_DESCRIPTION = 400;

/** Every fault of a schema, as `path: fault`. */
export function lint(root: SchemaNode, at: string): string[] {
  const faults = CHECKS.flatMap((check) => check(root)).map((fault) => `${at}: ${fault}`);
  return [...faults, ...childrenOf(root).flatMap(({ key, node }) => lint(node, at + key))];
}

type Check = (node: SchemaNode) => string[];

const fault = (isFault: boolean, text: string): string[] => (isFault ? [text] : []);

const isOpaque = (node: SchemaNode): boolean => node['x-kubernetes-preserve-unknown-fields'] === true;
const isIntOrString = (node: SchemaNode): boolean => node['x-kubernetes-int-or-string'] === true;

const CHECKS: readonly Check[] = [
  (node) =>
    Object.keys(node)
      .filter((keyword) => !KEYWORDS.has(keyword) && !keyword.startsWith('x-kubernetes-'))
      .map((keyword) => `keyword ${keyword} is not part of a CRD`),
  (node) => fault(node.type === undefined && !isIntOrString(node), 'has no type'),
  (node) => fault(node.anyOf !== undefined && !isIntOrString(node), 'is a union'),
  (node) => describes(node.description),
  (node) => fault(node.type === 'string' && !isBounded(node), 'is text without maxLength'),
  (node) => fault(isIntOrString(node) && node.maxLength === undefined, 'is int-or-string without maxLength'),
  (node) => fault(node.type === 'array' && node.maxItems === undefined, 'is a list without maxItems'),
  (node) => fault(node.type === 'array' && !node['x-kubernetes-list-type'], 'is a list without x-kubernetes-list-type'),
  (node) =>
    fault(
      typeof node.additionalProperties === 'object' && node.maxProperties === undefined,
      'is a map without maxProperties',
    ),
  (node) =>
    fault(
      node.type === 'object' && !node.properties && !node.additionalProperties && !isOpaque(node),
      'is an object of which nothing is known',
    ),
  (node) =>
    fault(
      node.properties !== undefined && node.additionalProperties !== undefined,
      'has fixed and free fields at once, which is mutually exclusive',
    ),
  (node) => fault(node.type === 'number', 'is a number that need not be whole'),
  (node) => fault(node.type === 'integer' && !isBoundedInteger(node), 'is an integer without minimum and maximum'),
  (node) => compiles(node.pattern),
  (node) => requiredAndDefaulted(node),
  (node) => listKeys(node),
  (node) => rulesOf(node),
  (node) => ruleOnDefault(node),
];

function describes(description: unknown): string[] {
  if (typeof description !== 'string' || description === '') return ['has no description'];
  return [
    ...fault(!/[.)]$/.test(description), 'description does not end as a sentence'),
    ...fault(description.length > MAX_DESCRIPTION, `description has more than ${MAX_DESCRIPTION} characters`),
  ];
}

const isBounded = (node: SchemaNode): boolean =>
  node.maxLength !== undefined || node.enum !== undefined || node.format === 'date-time';

const isBoundedInteger = ({ enum: values, minimum, maximum }: SchemaNode): boolean =>
  values !== undefined ||
  (typeof minimum === 'number' && typeof maximum === 'number' && minimum > Number.MIN_SAFE_INTEGER);

function compiles(pattern: unknown): string[] {
  if (typeof pattern !== 'string') return [];
  try {
    RE2JS.compile(pattern);
    return [];
  } catch (error) {
    return [`pattern ${pattern} is none of RE2: ${error instanceof Error ? error.message : String(error)}`];
  }
}

const required = (node: SchemaNode): readonly unknown[] => (Array.isArray(node.required) ? node.required : []);

const requiredAndDefaulted = (node: SchemaNode): string[] =>
  Object.entries(node.properties ?? {})
    .filter(([key, child]) => required(node).includes(key) && child.default !== undefined)
    .map(([key]) => `${key} is required and has a default`);

function listKeys(node: SchemaNode): string[] {
  const keys = node['x-kubernetes-list-map-keys'];
  if (node['x-kubernetes-list-type'] !== 'map') return [];
  return (Array.isArray(keys) ? keys : [])
    .filter((key) => !required(node.items ?? {}).includes(key))
    .map((key) => `list key ${String(key)} must be required`);
}

interface Validation {
  readonly rule: string;
  readonly message?: string;
  readonly fieldPath?: string;
}

const validationsOf = (node: SchemaNode): readonly Validation[] =>
  (node['x-kubernetes-validations'] as readonly Validation[] | undefined) ?? [];

const rulesOf = (node: SchemaNode): string[] =>
  validationsOf(node).flatMap(({ rule, message = '', fieldPath }) => [
    ...fault(message === '', `rule ${rule} has no message`),
    ...fault(/[\r\n]/.test(message), `message of rule ${rule} has line breaks`),
    ...fault(fieldPath !== undefined && !exists(node, fieldPath), `fieldPath ${fieldPath} does not exist`),
    ...patternsIn(rule).flatMap(compiles),
  ]);

/** Patterns that a rule matches against. */
const patternsIn = (rule: string): string[] =>
  [...rule.matchAll(/\.matches\('((?:[^'\\]|\\.)*)'\)/g)].map((match) => (match[1] ?? '').replaceAll(/\\(.)/g, '$1'));

function exists(node: SchemaNode, path: string): boolean {
  let at: SchemaNode | undefined = node;
  for (const field of path.slice(1).split('.')) at = at?.properties?.[field];
  return at !== undefined;
}

/** The server runs rules on a default before it fills in the defaults below it, so they must be written out. */
const ruleOnDefault = (node: SchemaNode): string[] => {
  const initial = node.default;
  if (typeof initial !== 'object' || initial === null || Array.isArray(initial)) return [];
  return Object.entries(node.properties ?? {})
    .filter(([key, child]) => child.default !== undefined && !(key in initial))
    .map(([key]) => `its default must write out the default of ${key}`);
};
