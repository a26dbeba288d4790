// One document of a file, read as an object.
import {
  API_VERSION,
  type FieldPath,
  type FieldProblem,
  GROUP,
  KINDS,
  type LiveSource,
  nearest,
  type Pipeline,
  parseLiveSource,
  parsePipeline,
} from '../../crds/schema/index.ts';
import { DEFAULT_NAMESPACE } from '../label.ts';
import { fieldText, type Problem } from './problem.ts';
import type { Spot, YamlDocument } from './yaml.ts';

/** Where an object stands. */
export interface Origin extends Spot {
  readonly file: string;
  /** Folder that relative paths in the object start from. */
  readonly folder: string;
}

/** An object that was read, with its place. */
export interface Loaded<T> {
  readonly value: T;
  readonly namespace: string;
  readonly name: string;
  readonly origin: Origin;
  /** A problem of a field, with the place of that field. */
  problem(path: FieldPath, message: string): Problem;
}

/** A Secret in the same files: where secretKeyRef looks on one machine. */
export interface SecretValues {
  readonly namespace: string;
  readonly name: string;
  readonly values: Readonly<Record<string, string>>;
}

/** What a document turned out to be. */
export type Reading =
  | { readonly kind: 'Pipeline'; readonly object: Loaded<Pipeline> }
  | { readonly kind: 'LiveSource'; readonly object: Loaded<LiveSource> }
  | { readonly kind: 'Secret'; readonly object: Loaded<SecretValues> }
  /** An object of another group: not looked at. */
  | { readonly kind: 'other'; readonly called: string; readonly origin: Origin }
  /** `pipeline`: its name, where it is a Pipeline that can be named. */
  | {
      readonly kind: 'wrong';
      readonly problems: readonly Problem[];
      readonly pipeline?: { readonly namespace: string; readonly name: string };
    };

/** A document, or an item of a `kind: List`: the value, and the path that leads to it. */
interface Subject {
  readonly document: YamlDocument;
  readonly at: FieldPath;
  readonly value: unknown;
  readonly file: string;
  readonly folder: string;
}

/** Reads a document; a `kind: List` is read as its items. */
export function readObjects(document: YamlDocument, file: string, folder: string): Reading[] {
  const { value } = document;
  if (isRecord(value) && value.kind === 'List' && Array.isArray(value.items))
    return value.items.map((item, index) => readObject({ document, at: ['items', index], value: item, file, folder }));
  return [readObject({ document, at: [], value, file, folder })];
}

function readObject(subject: Subject): Reading {
  const { value } = subject;
  if (!isRecord(value))
    return wrong(subject, [], 'an object was expected: a map with apiVersion, kind, metadata and spec');
  const { apiVersion, kind } = value;
  if (typeof apiVersion !== 'string') return wrong(subject, ['apiVersion'], `is required: ${API_VERSION}`);
  if (typeof kind !== 'string') return wrong(subject, ['kind'], `is required: one of ${Object.keys(KINDS).join(', ')}`);
  if (apiVersion === 'v1' && kind === 'Secret') return readSecret(subject, value);
  if (apiVersion.split('/')[0] === GROUP || kind in KINDS) return readOwn(subject, apiVersion, kind);
  const near = nearest(apiVersion, [API_VERSION]);
  if (near !== undefined)
    return wrong(subject, ['apiVersion'], `must be ${API_VERSION}, not ${JSON.stringify(apiVersion)}`);
  return { kind: 'other', called: called(value), origin: originOf(subject) };
}

function readOwn(subject: Subject, apiVersion: string, kind: string): Reading {
  if (apiVersion !== API_VERSION)
    return wrong(subject, ['apiVersion'], `must be ${API_VERSION}, not ${JSON.stringify(apiVersion)}`);
  if (kind !== 'Pipeline' && kind !== 'LiveSource') return wrongKind(subject, kind);
  if (kind === 'Pipeline') {
    const parsed = parsePipeline(subject.value);
    return parsed.ok ? { kind, object: loaded(subject, parsed.value) } : refused(subject, parsed.problems);
  }
  const parsed = parseLiveSource(subject.value);
  return parsed.ok ? { kind, object: loaded(subject, parsed.value) } : refused(subject, parsed.problems);
}

function wrongKind(subject: Subject, kind: string): Reading {
  const near = nearest(kind, Object.keys(KINDS));
  const help = near === undefined ? '' : `; did you mean ${near}?`;
  return wrong(
    subject,
    ['kind'],
    `must be one of ${Object.keys(KINDS).join(', ')}, not ${JSON.stringify(kind)}${help}`,
  );
}

// ---- problems, with places ---------------------------------------------------------------------------------------

const wrong = (subject: Subject, path: FieldPath, message: string): Reading => ({
  kind: 'wrong',
  problems: [problemAt(subject, path, message)],
});

function refused(subject: Subject, problems: readonly FieldProblem[]): Reading {
  const pipeline = pipelineName(subject.value);
  return {
    kind: 'wrong',
    problems: problems.map((one) => problemAt(subject, one.path, withHints(subject, one))),
    ...(pipeline !== undefined && { pipeline }),
  };
}

function problemAt(subject: Subject, path: FieldPath, message: string): Problem {
  const spot = subject.document.spotOf([...subject.at, ...path]);
  return {
    file: subject.file,
    line: spot.line,
    column: spot.column,
    ...(isRecord(subject.value) && typeof subject.value.kind === 'string' && { object: called(subject.value) }),
    ...(path.length > 0 && { field: fieldText(path) }),
    message,
  };
}

/** Adds what only the file tells: that YAML made something else of a word, or that a field without a value counts as absent. */
function withHints(subject: Subject, problem: FieldProblem): string {
  const written = subject.document.writtenAs([...subject.at, ...problem.path]);
  const value = valueAt(subject.value, problem.path);
  if (problem.expected === 'text' && written !== undefined && typeof value !== 'string')
    return written === String(value)
      ? `${problem.message}; write "${written}"`
      : `${problem.message} (YAML reads ${written} as ${JSON.stringify(value)}: write "${written}")`;
  const blank = problem.members?.find((member) => valueAt(value, [member]) === null);
  if (blank !== undefined)
    return `${problem.message} (${blank} has no value and counts as absent: write ${blank}: {} for one without settings)`;
  return problem.message;
}

function pipelineName(value: unknown): { namespace: string; name: string } | undefined {
  if (!isRecord(value) || value.kind !== 'Pipeline' || !isRecord(value.metadata)) return undefined;
  const { name, namespace = DEFAULT_NAMESPACE } = value.metadata;
  return typeof name === 'string' && typeof namespace === 'string' ? { name, namespace } : undefined;
}

const valueAt = (root: unknown, path: FieldPath): unknown =>
  path.reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>> | null | undefined)?.[key], root);

// ---- parts of objects --------------------------------------------------------------------------------------------

function loaded<T extends { metadata: { name: string; namespace?: string | undefined } }>(
  subject: Subject,
  value: T,
): Loaded<T> {
  const { name, namespace = DEFAULT_NAMESPACE } = value.metadata;
  return {
    value,
    name,
    namespace,
    origin: originOf(subject),
    problem: (path, message) => problemAt(subject, path, message),
  };
}

function readSecret(subject: Subject, value: Readonly<Record<string, unknown>>): Reading {
  const metadata = isRecord(value.metadata) ? value.metadata : {};
  const { name, namespace = DEFAULT_NAMESPACE } = metadata;
  if (typeof name !== 'string' || typeof namespace !== 'string')
    return wrong(subject, ['metadata', 'name'], 'is required: text');
  const values = { ...decoded(value.data), ...texts(value.stringData) };
  return { kind: 'Secret', object: loaded(subject, { metadata: { name, namespace }, namespace, name, values }) };
}

const texts = (map: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(isRecord(map) ? map : {}).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );

const decoded = (map: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(texts(map)).map(([key, text]) => [key, Buffer.from(text, 'base64').toString('utf8')]),
  );

const originOf = ({ document, at, file, folder }: Subject): Origin => ({ ...document.spotOf(at), file, folder });

/** `Pipeline search/code-index`, as far as it is known. */
function called(value: Readonly<Record<string, unknown>>): string {
  const { name, namespace = DEFAULT_NAMESPACE } = isRecord(value.metadata) ? value.metadata : {};
  return typeof name === 'string' ? `${value.kind} ${namespace}/${name}` : String(value.kind);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
