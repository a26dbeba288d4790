// The reference page of the objects, written from their schemas: every field with type, bounds, default and meaning.
import {
  ANNOTATIONS,
  KINDS,
  type KindName,
  LIVE_SOURCE_CONDITIONS,
  PIPELINE_CONDITIONS,
  REASONS,
} from '../schema/index.ts';
import { columnsOf, schemaOf } from './crd.ts';
import { childrenOf, type SchemaNode } from './structural.ts';

/** Markdown of `docs/reference/objects.md`. */
export function objectsReference(): string {
  const kinds = Object.keys(KINDS) as KindName[];
  return [
    '# The objects',
    'Written by `make generate` from `crds/schema`; `kubectl explain pipeline.spec` and its like print the same.',
    '`*` marks a required field. Durations are in the form of Go (`500ms`, `30s`, `1h30m`), quantities in that of Kubernetes (`500m`, `100Mi`, `1.5Gi`). Bounds are inclusive.',
    ...kinds.flatMap(kindSections),
    '## Annotations that trigger',
    'The value is any new text; it is handled once and echoed in `status.handled`.',
    table(
      ['annotation', 'field of status.handled'],
      Object.entries(ANNOTATIONS).map(([field, name]) => [code(name), code(field)]),
    ),
    '## Conditions of a Pipeline',
    table(
      ['type', 'True says'],
      Object.entries(PIPELINE_CONDITIONS).map(([type, says]) => [type, says]),
    ),
    '## Conditions of a LiveSource',
    table(
      ['type', 'True says'],
      Object.entries(LIVE_SOURCE_CONDITIONS).map(([type, says]) => [type, says]),
    ),
    '## Reasons of conditions',
    table(
      ['reason', 'says'],
      Object.entries(REASONS).map(([reason, says]) => [reason, says]),
    ),
    '',
  ].join('\n\n');
}

function kindSections(name: KindName): string[] {
  const root = schemaOf(name);
  const { plural, shortNames } = KINDS[name];
  const known = new Map<string, string>();
  return [
    `## ${name}`,
    String(root.description),
    `\`kubectl get ${plural}\` (short: \`${shortNames.join('`, `')}\`) prints these columns:`,
    table(
      ['column', 'says', 'shown'],
      columnsOf(name).map((column) => [column.name, column.description, column.priority ? 'with `-o wide`' : 'always']),
    ),
    ...sections(root.properties?.spec ?? {}, `${name}.spec`, known),
    ...sections(root.properties?.status ?? {}, `${name}.status`, known),
  ];
}

/** A section for an object and each object below it; one that was described before is only named. */
function sections(node: SchemaNode, path: string, known: Map<string, string>): string[] {
  const rows = Object.entries(node.properties ?? {}).map(([field, child]) => {
    const earlier = known.get(keyOf(child));
    const required = (node.required as readonly string[] | undefined)?.includes(field) ? '*' : '';
    return [`${code(field)}${required}`, typeText(child, earlier), defaultText(child), String(child.description ?? '')];
  });
  const own = [
    `### ${path}`,
    String(node.description ?? ''),
    table(['field', 'type', 'default', 'meaning'], rows),
    ...rulesText(node),
  ];
  const below = Object.entries(node.properties ?? {}).flatMap(([field, child]) => {
    const { object, at } = objectIn(child, `${path}.${field}`);
    if (object?.properties === undefined || known.has(keyOf(child))) return [];
    known.set(keyOf(child), at);
    return sections(object, at, known);
  });
  return [...own, ...below];
}

/** The object that a field holds, itself or as items. */
function objectIn(node: SchemaNode, at: string): { object: SchemaNode | undefined; at: string } {
  return node.items ? { object: node.items, at: `${at}[]` } : { object: node, at };
}

/** Equal structure is described once, whatever the text above it says. */
const keyOf = (node: SchemaNode): string => {
  const { description: _text, default: _initial, ...rest } = node;
  return node.properties || node.items?.properties ? JSON.stringify(rest) : '';
};

function typeText(node: SchemaNode, earlier: string | undefined): string {
  const bounds = boundsText(node);
  return `${wordOf(node)}${bounds === '' ? '' : `, ${bounds}`}${earlier === undefined ? '' : `, as ${code(earlier)}`}`;
}

function wordOf(node: SchemaNode): string {
  if (Array.isArray(node.enum)) return node.enum.map((value) => code(String(value))).join(', ');
  if (node['x-kubernetes-int-or-string']) return 'quantity';
  if (node['x-kubernetes-preserve-unknown-fields']) return 'any map';
  if (node.items) return `list of ${wordOf(node.items)}`;
  if (node.additionalProperties) return 'map of text';
  if (node.format === 'date-time') return 'time';
  return (
    { string: 'text', integer: 'integer', boolean: 'boolean', object: 'map' }[String(node.type)] ?? String(node.type)
  );
}

function boundsText(node: SchemaNode): string {
  if (node.type === 'integer') return `${number(node.minimum)} to ${number(node.maximum)}`;
  if (node.type === 'array') return `${number(node.minItems ?? 0)} to ${number(node.maxItems)}`;
  if (node.maxProperties !== undefined) return `up to ${number(node.maxProperties)}`;
  const pattern = typeof node.pattern === 'string' ? `, ${code(node.pattern)}` : '';
  if (node.maxLength !== undefined && node.type === 'string')
    return `up to ${number(node.maxLength)} characters${pattern}`;
  return '';
}

const number = (value: unknown): string => (typeof value === 'number' ? value.toLocaleString('en') : String(value));

const defaultText = (node: SchemaNode): string =>
  node.default === undefined ? '' : code(JSON.stringify(node.default));

function rulesText(node: SchemaNode): string[] {
  const rules = (node['x-kubernetes-validations'] as readonly { readonly message: string }[] | undefined) ?? [];
  return rules.length === 0 ? [] : [rules.map(({ message }) => `- ${message}`).join('\n')];
}

const code = (text: string): string => `\`${text}\``;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Paths of every field, for tests: `Pipeline.spec.component.steps[].read`. */
export function fieldPaths(name: KindName): string[] {
  const walk = (node: SchemaNode, path: string): string[] =>
    childrenOf(node).flatMap((child) => [path + child.key, ...walk(child.node, path + child.key)]);
  return walk(schemaOf(name).properties?.spec ?? {}, 'spec');
}
