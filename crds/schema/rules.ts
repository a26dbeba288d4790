// Rules between fields, written once and spoken twice: as CEL for the API server, as a check for files on this machine.
// Owns:   the small language of the rules, and the two ways to say each of its terms.
// Leaves: structure (types, bounds, patterns) to zod, and what needs the world outside (Secrets, pods) to conditions.
//   R1. A term is one value that carries its CEL text and its meaning, made by one function: the two cannot drift apart.
//   R2. A rule that mentions `oldSelf` is about an edit; like the API server on create, a local check skips it.
//   R3. On an object whose structure is wrong a rule may be undecided; then the structure's own error is the message.
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { DURATION_PATTERN, durationMs } from './duration.ts';
import { QUANTITY_PATTERN, quantityNano } from './quantity.ts';

type FieldPath = readonly (string | number)[];

/** Values of `self` and of the variables of loops. */
type Scope = Readonly<Record<string, unknown>>;

/** Part of a rule: how CEL says it, and what it means here. */
export interface Term<T> {
  readonly cel: string;
  readonly of: (scope: Scope) => T;
  /** Where a false term is broken, relative to the root of its path: the first element of a list that breaks an `all`. */
  readonly blame?: (scope: Scope) => FieldPath | undefined;
}

type Truth = Term<boolean>;

/** A rule as the CRD holds it, and as `ruled` checks it. */
export interface Rule {
  readonly holds: Truth;
  /** For people: what is required, naming the fields. One line. */
  readonly message: string;
  /** Field to blame, such as `.overlap`; absent: the object that has the rule. */
  readonly fieldPath?: string;
  /** Where `holds` is about every element of a list: field of the broken element, such as `.export.target`. CEL cannot name it. */
  readonly inElement?: string;
  /** Words that the blamed field could have meant, for a suggestion. */
  readonly candidates?: (self: unknown) => readonly string[];
  /** The rule asks for exactly one of these members. */
  readonly members?: readonly string[];
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
}

/** R3: what a term asks for is not there, or has another type. */
class Undecided extends Error {}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// ---- values ------------------------------------------------------------------------------------------------------

/** Value at a path such as `self.replicas.min` or `self.steps[0]`; the path is its own CEL. */
function at(path: string): Term<unknown> {
  const [root = '', ...fields] = path.split(/[.[]/).map((field) => field.replace(']', ''));
  return { cel: path, of: (scope) => fields.reduce(memberOf, scope[root]) };
}

function memberOf(value: unknown, field: string): unknown {
  const member = Array.isArray(value) ? value[Number(field)] : isRecord(value) ? value[field] : undefined;
  if (member === undefined) throw new Undecided(field);
  return member;
}

function listAt(path: string): Term<readonly unknown[]> {
  const list = at(path);
  return {
    cel: path,
    of: (scope) => {
      const value = list.of(scope);
      if (!Array.isArray(value)) throw new Undecided(path);
      return value;
    },
  };
}

function textAt(path: string): Term<string> {
  const text = at(path);
  return {
    cel: path,
    of: (scope) => {
      const value = text.of(scope);
      if (typeof value !== 'string') throw new Undecided(path);
      return value;
    },
  };
}

function intAt(path: string): Term<number> {
  const int = at(path);
  return {
    cel: path,
    of: (scope) => {
      const value = int.of(scope);
      if (typeof value !== 'number') throw new Undecided(path);
      return value;
    },
  };
}

// ---- truths ------------------------------------------------------------------------------------------------------

/** Whether the member at the end of the path is set. */
export function has(path: string): Truth {
  const split = path.lastIndexOf('.');
  const owner = at(path.slice(0, split));
  const field = path.slice(split + 1);
  return {
    cel: `has(${path})`,
    of: (scope) => {
      const value = owner.of(scope);
      if (!isRecord(value)) throw new Undecided(path);
      return value[field] !== undefined;
    },
  };
}

export const not = (a: Truth): Truth => ({ cel: `!(${a.cel})`, of: (scope) => !a.of(scope) });

export const and = (...every: Truth[]): Truth => ({
  cel: every.map((one) => `(${one.cel})`).join(' && '),
  of: (scope) => every.every((one) => one.of(scope)),
  blame: (scope) => every.find((one) => !one.of(scope))?.blame?.(scope),
});

export const or = (...some: Truth[]): Truth => ({
  cel: some.map((one) => `(${one.cel})`).join(' || '),
  of: (scope) => some.some((one) => one.of(scope)),
  blame: (scope) => some.map((one) => one.blame?.(scope)).find((path) => path !== undefined),
});

/** If `a` then `b`. */
export const implies = (a: Truth, b: Truth): Truth => or(not(a), b);

/** Exactly one of the members of `self` is set. */
export function exactlyOneOf(members: readonly string[]): Truth {
  const set = members.map((member) => has(`self.${member}`));
  return {
    cel: `[${set.map((one) => one.cel).join(', ')}].exists_one(x, x)`,
    of: (scope) => set.filter((one) => one.of(scope)).length === 1,
  };
}

export function is(path: string, literal: string | number | boolean): Truth {
  const value = at(path);
  return {
    cel: `${path} == ${typeof literal === 'string' ? quote(literal) : String(literal)}`,
    of: (scope) => value.of(scope) === literal,
  };
}

/** Both are equal, of whatever type. */
export function same(a: string, b: string): Truth {
  const [left, right] = [at(a), at(b)];
  return { cel: `${a} == ${b}`, of: (scope) => isDeepStrictEqual(left.of(scope), right.of(scope)) };
}

/** Both members are set, or neither is. */
export function bothOrNeither(a: string, b: string): Truth {
  const [left, right] = [has(a), has(b)];
  return { cel: `${left.cel} == ${right.cel}`, of: (scope) => left.of(scope) === right.of(scope) };
}

/** Integers: `a < b`. */
export function below(a: string, b: string): Truth {
  const [left, right] = [intAt(a), intAt(b)];
  return { cel: `${a} < ${b}`, of: (scope) => left.of(scope) < right.of(scope) };
}

/** Integers: `a <= b`; `b` is a path or a number. */
export function atMost(a: string, b: string | number): Truth {
  const left = intAt(a);
  const right = typeof b === 'number' ? { cel: String(b), of: () => b } : intAt(b);
  return { cel: `${a} <= ${right.cel}`, of: (scope) => left.of(scope) <= right.of(scope) };
}

/** A list or string has at most so many elements or characters. */
export function sizeAtMost(path: string, max: number): Truth {
  const value = at(path);
  return {
    cel: `size(${path}) <= ${max}`,
    of: (scope) => {
      const it = value.of(scope);
      if (typeof it === 'string') return [...it].length <= max;
      if (Array.isArray(it)) return it.length <= max;
      throw new Undecided(path);
    },
  };
}

/** A string has this form; the pattern stays within what RE2 and JavaScript read alike. */
export function matches(path: string, pattern: RegExp): Truth {
  const text = textAt(path);
  return { cel: `${path}.matches(${quote(pattern.source)})`, of: (scope) => pattern.test(text.of(scope)) };
}

/** Every key of a map has this form. */
export function keysMatch(path: string, pattern: RegExp): Truth {
  const map = at(path);
  return {
    cel: `${path}.all(k, k.matches(${quote(pattern.source)}))`,
    of: (scope) => {
      const value = map.of(scope);
      if (!isRecord(value)) throw new Undecided(path);
      return Object.keys(value).every((key) => pattern.test(key));
    },
  };
}

type Loop = (path: string, name: string, body: Truth) => Truth;

const loop =
  (macro: string, decide: (list: readonly unknown[], holds: (element: unknown) => boolean) => boolean): Loop =>
  (path, name, body) => {
    const list = listAt(path);
    return {
      cel: `${path}.${macro}(${name}, ${body.cel})`,
      of: (scope) => decide(list.of(scope), (element) => body.of({ ...scope, [name]: element })),
    };
  };

const every = loop('all', (list, holds) => list.every(holds));
/** Every element satisfies the body, in which it is called `name`. */
export const all: Loop = (path, name, body) => ({ ...every(path, name, body), blame: blameFirst(path, name, body) });
/** Some element does. */
export const exists = loop('exists', (list, holds) => list.some(holds));
/** Exactly one does. */
export const existsOne = loop('exists_one', (list, holds) => list.filter(holds).length === 1);

function blameFirst(path: string, name: string, body: Truth): NonNullable<Truth['blame']> {
  const list = listAt(path);
  const steps = path.split('.').slice(1);
  return (scope) => {
    const index = list.of(scope).findIndex((element) => !body.of({ ...scope, [name]: element }));
    if (index < 0) return undefined;
    const inner = body.blame?.({ ...scope, [name]: list.of(scope)[index] });
    return [...steps, index, ...(inner ?? [])];
  };
}

/** A duration (Go form, no sign) between two others, both allowed. */
export function durationWithin(path: string, min: string, max: string): Truth {
  const form = matches(path, DURATION_PATTERN);
  const text = textAt(path);
  return {
    cel: `${form.cel} && duration(${path}) >= duration('${min}') && duration(${path}) <= duration('${max}')`,
    of: (scope) => form.of(scope) && isWithin(durationMs(text.of(scope)), durationMs(min), durationMs(max)),
  };
}

/** A quantity (integer or string, no sign) between two others, both allowed. */
export function quantityWithin(path: string, min: string, max: string): Truth {
  const form = quantityMatches(path, QUANTITY_PATTERN);
  const value = quantityText(path);
  const quantity = `quantity(${value.cel})`;
  return {
    cel: `${form.cel} && ${quantity}.compareTo(quantity('${min}')) >= 0 && ${quantity}.compareTo(quantity('${max}')) <= 0`,
    of: (scope) => form.of(scope) && isWithin(quantityNano(value.of(scope)), quantityNano(min), quantityNano(max)),
  };
}

/** A quantity's text has this form. */
export function quantityMatches(path: string, pattern: RegExp): Truth {
  const value = quantityText(path);
  return { cel: `${value.cel}.matches(${quote(pattern.source)})`, of: (scope) => pattern.test(value.of(scope)) };
}

function quantityText(path: string): Term<string> {
  const value = at(path);
  return {
    cel: `string(${path})`,
    of: (scope) => {
      const it = value.of(scope);
      if (typeof it !== 'string' && typeof it !== 'number') throw new Undecided(path);
      return String(it);
    },
  };
}

const isWithin = <T extends number | bigint>(value: T, min: T, max: T): boolean => value >= min && value <= max;

const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

// ---- rules on schemas --------------------------------------------------------------------------------------------

/** Whether the rule is about an edit (R2). */
export const isTransition = (rule: Rule): boolean => /\boldSelf\b/.test(rule.holds.cel);

/**
 * Attaches a description and rules to a schema, last of all (zod forgets metadata on any later change but `optional` and
 * `default`). Rules run even where other fields of the object are wrong, so that a file's errors come all at once.
 */
export function ruled<T extends z.ZodType>(schema: T, meta: Readonly<Record<string, unknown>>, ...rules: Rule[]): T {
  const local = rules.filter((rule) => !isTransition(rule));
  const checked =
    local.length === 0
      ? schema
      : schema.check(
          z.superRefine(
            (self, context) => {
              for (const rule of local) if (isBroken(rule, self)) context.addIssue(issueOf(rule, self));
            },
            { when: () => true },
          ),
        );
  return checked.meta({ ...meta, ...(rules.length > 0 && { 'x-kubernetes-validations': validations(rules) }) });
}

function isBroken(rule: Rule, self: unknown): boolean {
  try {
    return !rule.holds.of({ self });
  } catch (error) {
    if (error instanceof Undecided) return false;
    throw error;
  }
}

/** What `problems` reads from the issue of a rule. */
export interface RuleIssue {
  readonly candidates?: readonly string[] | undefined;
  readonly members?: readonly string[] | undefined;
}

const fieldsOf = (path: string | undefined): FieldPath => path?.slice(1).split('.') ?? [];

function issueOf(rule: Rule, self: unknown) {
  const element = rule.inElement === undefined ? undefined : rule.holds.blame?.({ self });
  const path = element === undefined ? fieldsOf(rule.fieldPath) : [...element, ...fieldsOf(rule.inElement)];
  const params: RuleIssue = { candidates: rule.candidates?.(self), members: rule.members };
  return { code: 'custom' as const, message: rule.message, path: [...path], params: { ...params } };
}

/** Rules as a CRD holds them. */
export const validations = (rules: readonly Rule[]) => rules.map(asValidation);

const asValidation = ({ holds, message, fieldPath, reason }: Rule): Readonly<Record<string, string>> => ({
  rule: holds.cel,
  message,
  ...(fieldPath !== undefined && { fieldPath }),
  ...(reason !== undefined && { reason }),
});
