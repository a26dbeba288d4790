// What is wrong with an object, for people: the field, what was expected, what stands there instead.
// Used for files (`fairlead validate`) and for conditions (`Accepted=False`) alike. Secrets never stand in objects, so values may be quoted.
import { z } from 'zod';
import { cardProblems } from './cards.ts';
import { cronProblem } from './cron.ts';
import { type LiveSource, liveSource } from './live-source.ts';
import { nearest } from './nearest.ts';
import { type Pipeline, pipeline } from './pipeline.ts';
import type { RuleIssue } from './rules.ts';

export type FieldPath = readonly (string | number)[];

/** One thing that is wrong. */
export interface FieldProblem {
  readonly path: FieldPath;
  readonly message: string;
  /** Set where the value has the wrong type: what was expected, such as `text`. */
  readonly expected?: string;
  /** Set for a field that does not exist. */
  readonly unknown?: boolean;
  /** Set for a required field that is absent. */
  readonly missing?: boolean;
  /** The field that such a one was probably meant to be. */
  readonly meant?: string;
  /** Set where exactly one of these members must be set. */
  readonly members?: readonly string[];
}

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

/** Also checks what the CRD cannot: that some runner could give each step the cards that it asks for. */
export function parsePipeline(input: unknown): Parsed<Pipeline> {
  const parsed = parse(pipeline, input);
  if (!parsed.ok) return parsed;
  const problems = cardProblems(parsed.value.spec);
  return problems.length === 0 ? parsed : { ok: false, problems };
}

/** Also checks what the CRD cannot: that the cron expression comes true and the time zone exists. */
export function parseLiveSource(input: unknown): Parsed<LiveSource> {
  const parsed = parse(liveSource, input);
  if (!parsed.ok) return parsed;
  const problems = timeProblems(parsed.value);
  return problems.length === 0 ? parsed : { ok: false, problems };
}

function timeProblems({ spec }: LiveSource): FieldProblem[] {
  if (spec.timeZone !== undefined && !isTimeZone(spec.timeZone))
    return [{ path: ['spec', 'timeZone'], message: `${quoted(spec.timeZone)} is no time zone` }];
  const problem = spec.cron === undefined ? undefined : cronProblem(spec.cron, spec.timeZone ?? 'UTC');
  return problem === undefined ? [] : [{ path: ['spec', 'cron'], message: `${quoted(spec.cron)} ${problem}` }];
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/**
 * Reads an object that the API server holds: fields that this version does not know are passed over (the CRD may be newer), and
 * any other problem comes back as one, never as a throw.
 */
export function readStored(input: unknown, kind: 'Pipeline'): Parsed<Pipeline>;
export function readStored(input: unknown, kind: 'LiveSource'): Parsed<LiveSource>;
export function readStored(input: unknown, kind: 'Pipeline' | 'LiveSource'): Parsed<Pipeline> | Parsed<LiveSource> {
  const read = kind === 'Pipeline' ? parsePipeline : parseLiveSource;
  const first = read(input);
  if (first.ok || !first.problems.some((problem) => problem.unknown)) return first;
  const known = structuredClone(input);
  for (const problem of first.problems) if (problem.unknown) remove(known, problem.path);
  return read(known);
}

function remove(root: unknown, path: FieldPath): void {
  const owner = path.slice(0, -1).reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], root);
  if (typeof owner === 'object' && owner !== null) delete (owner as Record<string, unknown>)[path.at(-1) ?? ''];
}

/** Parses with a schema; every problem at once, in the order of the fields. */
export function parse<T extends z.ZodType>(schema: T, input: unknown): Parsed<z.output<T>> {
  const result = schema.safeParse(withoutNulls(schema, input), { reportInput: true });
  if (result.success) return { ok: true, value: result.data };
  const problems = result.error.issues.flatMap((issue) => explain(issue, schema, input));
  return { ok: false, problems: problems.filter((problem) => !isEcho(problem, problems)) };
}

/** The API server drops a field without value (`read:`) where the field exists, and refuses it elsewhere. */
function withoutNulls(schema: z.core.$ZodType | undefined, value: unknown): unknown {
  const node = unwrapped(schema);
  if (node instanceof z.ZodArray && Array.isArray(value)) return value.map((item) => withoutNulls(node.element, item));
  if (!(node instanceof z.ZodObject) || typeof value !== 'object' || value === null || Array.isArray(value))
    return value;
  const kept = Object.entries(value).filter(([key, member]) => member !== null || !(key in node.shape));
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(node.shape[key], member)]));
}

/** That a field is absent, or no variant set, follows from one that does not exist and was probably meant to be it. */
const isEcho = ({ members, missing, path }: FieldProblem, problems: readonly FieldProblem[]): boolean =>
  (missing === true && hasUnknown(problems, path.slice(0, -1), (meant) => meant === path.at(-1))) ||
  (members !== undefined && hasUnknown(problems, path, (meant) => meant === undefined || members.includes(meant)));

const hasUnknown = (
  problems: readonly FieldProblem[],
  owner: FieldPath,
  isIt: (meant: string | undefined) => boolean,
): boolean =>
  problems.some(
    ({ unknown, path, meant }) =>
      unknown === true &&
      path.length === owner.length + 1 &&
      owner.every((key, index) => key === path[index]) &&
      isIt(meant),
  );

// ---- from zod's issues to sentences ------------------------------------------------------------------------------

function explain(issue: z.core.$ZodIssue, schema: z.ZodType, root: unknown): FieldProblem[] {
  const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownField([...path, key], fieldsAt(schema, path)));
    case 'invalid_type':
      return [wrongType(path, issue.expected, issue.input, wordsOf(issue))];
    case 'invalid_union':
      return [wrongType(path, 'integer or text', issue.input)];
    case 'invalid_value':
      return [
        { path, message: notOneOf(issue.values, issue.input), ...(issue.input === undefined && { missing: true }) },
      ];
    case 'too_small':
      return [{ path, message: `must ${atLeast(issue.origin, Number(issue.minimum))}${instead(sized(issue.input))}` }];
    case 'too_big':
      return [{ path, message: `must ${atMostSo(issue.origin, Number(issue.maximum))}${instead(sized(issue.input))}` }];
    case 'invalid_format':
      return [{ path, message: `${issue.format === 'datetime' ? TIME_WORDS : issue.message}${instead(issue.input)}` }];
    case 'custom':
      return [brokenRule(path, issue.message, issue.params ?? {}, valueAt(root, path))];
    default:
      return [{ path, message: `${issue.message}${instead(issue.input)}` }];
  }
}

const TIME_WORDS = 'must be a time such as 2030-01-31T12:00:00Z';

function brokenRule(
  path: FieldPath,
  message: string,
  { candidates, members }: RuleIssue,
  value: unknown,
): FieldProblem {
  if (members !== undefined) return { path, members, message: `${message}${membersSet(members, value)}` };
  if (value === undefined) return { path, message, missing: true };
  const shown = typeof value === 'object' ? '' : instead(value);
  const near = typeof value === 'string' ? nearest(value, candidates ?? []) : undefined;
  return { path, message: `${message}${shown}${near === undefined ? '' : `; did you mean ${near}?`}` };
}

function membersSet(members: readonly string[], value: unknown): string {
  const set = members.filter((member) => valueAt(value, [member]) !== undefined);
  return set.length < 2 ? '' : `, not ${set.slice(0, -1).join(', ')} and ${set.at(-1)} together`;
}

const valueAt = (root: unknown, path: FieldPath): unknown =>
  path.reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>> | null | undefined)?.[key], root);

function unknownField(path: FieldPath, known: readonly string[]): FieldProblem {
  const near = nearest(String(path.at(-1)), known);
  const help = near === undefined ? `; known here: ${known.join(', ')}` : `; did you mean ${near}?`;
  return {
    path,
    message: `unknown field${known.length === 0 ? '' : help}`,
    unknown: true,
    ...(near !== undefined && { meant: near }),
  };
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  int: 'a whole number',
  number: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of fields',
  record: 'a map',
  'integer or text': 'a whole number or text (such as 500m or 1Gi)',
};

/** What the field says of itself, where it says more than its type. */
const wordsOf = ({ message }: z.core.$ZodIssue): string | undefined =>
  message.startsWith('Invalid input') ? undefined : message;

function wrongType(path: FieldPath, type: string, input: unknown, words?: string): FieldProblem {
  const expected = WORDS[type] ?? type;
  if (input === undefined) return { path, message: `is required: ${expected}`, missing: true };
  if (words !== undefined) return { path, message: `${words}${instead(input)}` };
  const bare = expected === 'a whole number' && typeof input === 'string' && /^[0-9]+$/.test(input);
  return {
    path,
    message: `must be ${expected}${instead(input)}${bare ? `; write ${input} without quotes` : ''}`,
    expected,
  };
}

function notOneOf(values: readonly unknown[], input: unknown): string {
  const words = values.map(String);
  const must = words.length === 1 ? `must be ${words[0]}` : `must be one of ${words.join(', ')}`;
  if (input === undefined) return `is required: ${must}`;
  const near = typeof input === 'string' ? nearest(input, words) : undefined;
  return `${must}${instead(input)}${near === undefined || words.length === 1 ? '' : `; did you mean ${near}?`}`;
}

const atLeast = (origin: string, minimum: number): string => {
  if (origin === 'string') return minimum === 1 ? 'not be empty' : `have at least ${minimum} characters`;
  if (origin === 'array') return `have at least ${minimum} ${minimum === 1 ? 'item' : 'items'}`;
  return `be at least ${minimum}`;
};

const atMostSo = (origin: string, maximum: number): string => {
  if (origin === 'string') return `have at most ${maximum} characters`;
  if (origin === 'array') return `have at most ${maximum} items`;
  return `be at most ${maximum}`;
};

/** Of a list its length. */
const sized = (input: unknown): unknown => (Array.isArray(input) ? input.length : input);

/** `, not "x"`: what stands there, where that is short enough to help. */
function instead(input: unknown): string {
  if (input === null) return ', not nothing';
  if (Array.isArray(input)) return ', not a list';
  if (typeof input === 'object') return ', not a map';
  if (typeof input === 'string') return input === '' || input.length > 80 ? '' : `, not ${quoted(input)}`;
  return input === undefined ? '' : `, not ${String(input)}`;
}

const quoted = (value: unknown): string => JSON.stringify(value);

/** Names of the fields that the schema has at a path; none for a map with free keys. */
export function fieldsAt(schema: z.ZodType, path: FieldPath): string[] {
  let node: z.core.$ZodType | undefined = schema;
  for (const key of path) node = memberOf(unwrapped(node), key);
  const owner = unwrapped(node);
  return owner instanceof z.ZodObject ? Object.keys(owner.shape) : [];
}

function memberOf(node: z.core.$ZodType | undefined, key: string | number): z.core.$ZodType | undefined {
  if (node instanceof z.ZodObject) return node.shape[key];
  if (node instanceof z.ZodArray) return node.element;
  if (node instanceof z.ZodRecord) return node.valueType;
  return undefined;
}

function unwrapped(node: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  let inner = node;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault || inner instanceof z.ZodNullable)
    inner = inner.unwrap();
  return inner;
}
