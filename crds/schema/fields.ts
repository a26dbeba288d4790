// Building blocks of the schema: zod types that also have a structural form in a CRD. Each takes its description first,
// since the description is the documentation (`kubectl explain`, the reference page): what, unit, default, meaning when absent.
// Keys such as `maxProperties` and `x-kubernetes-*` in `meta` are for `crds/emit`, which copies them into the CRD;
// a `crd` key replaces the whole node there.
import { z } from 'zod';
import {
  durationWithin,
  exactlyOneOf,
  keysMatch,
  matches,
  quantityMatches,
  quantityWithin,
  type Rule,
  ruled,
} from './rules.ts';

/** Order matters and items have no key: server-side apply takes the list as a whole. */
const ATOMIC = { 'x-kubernetes-list-type': 'atomic' };

export const text = (description: string, max = 253) => z.string().min(1).max(max).meta({ description });

/**
 * Text of a simple form, checked by a pattern that a reader understands in the API server's message as it stands. `words`: the same
 * for people, on this machine. Patterns stay within what RE2 and JavaScript read alike.
 */
export const patterned = (description: string, max: number, pattern: RegExp, words: string) =>
  z.string().min(1).max(max).regex(pattern, { error: words }).meta({ description });

/** Text of a form that only words explain: a rule, so that the API server says the words too. */
export const worded = (description: string, max: number, pattern: RegExp, words: string) =>
  ruled(z.string().min(1).max(max), { description }, { holds: matches('self', pattern), message: words });

export const NAME_PATTERN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
export const NAME_WORDS = 'must be lower case letters, digits and -, with a letter or digit at both ends';
/** Name within an object, in the form of a DNS label. */
export const name = (description: string) => patterned(description, 63, NAME_PATTERN, NAME_WORDS);

const SUBDOMAIN_PATTERN = /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/;
/** Name of another object of Kubernetes. */
export const objectName = (description: string) =>
  patterned(
    description,
    253,
    SUBDOMAIN_PATTERN,
    'must be lower case letters, digits, - and ., with a letter or digit at both ends',
  );

/** Name of an environment variable. */
export const variableName = (description: string) =>
  patterned(description, 253, /^[A-Za-z_][A-Za-z0-9_]*$/, 'must be letters, digits and _, not starting with a digit');

export const int = (description: string, min: number, max: number) => z.int().min(min).max(max).meta({ description });

export const flag = (description: string) => z.boolean().default(false).meta({ description });

export const choice = <const T extends readonly [string, ...string[]]>(description: string, ...values: T) =>
  z.enum(values).meta({ description });

/** Go duration without sign, within bounds. */
export const duration = (description: string, min: string, max: string) => {
  const message = `must be a duration from ${min} to ${max}, such as 500ms, 30s, 5m or 1h30m`;
  return ruled(
    z.string({ error: message }).min(1).max(32),
    { description },
    { holds: durationWithin('self', min, max), message },
  );
};

const quantityOf = (description: string, ...rules: Rule[]) =>
  ruled(
    z.union([z.int().min(0), z.string().min(1).max(32)]),
    {
      description: `Quantity. ${description}`, // kubectl explain calls such a field <Object>
      crd: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }], maxLength: 32 },
    },
    ...rules,
  );

/** Bytes as a quantity, within bounds. */
export const bytes = (description: string, min: string, max: string) =>
  quantityOf(description, {
    holds: quantityWithin('self', min, max),
    message: `must be a quantity from ${min} to ${max}, such as 64Ki, 100Mi or 1.5Gi`,
  });

/** G1: thousandths below one card, or whole cards. */
const CARDS_PATTERN = /^([1-9][0-9]{0,2}m|0?\.[0-9]{0,2}[1-9]0*|[1-9][0-9]?(000m|\.0{1,3})?)$/;

/** Share of a card, or whole cards. */
export const cards = (description: string) =>
  quantityOf(description, {
    holds: quantityMatches('self', CARDS_PATTERN),
    message: 'gpu must be a share below one card in thousandths (such as 500m), or a whole number of cards (such as 2)',
  });

/** Kept as written and not modelled. */
export const opaque = (description: string) =>
  z
    .record(z.string(), z.unknown())
    .meta({ description, crd: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } });

export const object = <S extends z.ZodRawShape>(description: string, shape: S, ...rules: Rule[]) =>
  ruled(z.strictObject(shape), { description }, ...rules);

/**
 * An object of whose `variants` exactly one member is set; `common` members do not count. Stands for a discriminated union,
 * which has no structural form.
 */
export const exactlyOne = <V extends z.ZodRawShape, C extends z.ZodRawShape>(
  description: string,
  variants: V,
  common: C,
  ...rules: Rule[]
) => {
  const members = Object.keys(variants);
  return ruled(
    z.strictObject({ ...variants, ...common }),
    { description },
    { holds: exactlyOneOf(members), message: `exactly one of ${members.join(', ')} must be set`, members },
    ...rules,
  );
};

/** List whose order matters. */
export const list = <T extends z.ZodType>(description: string, item: T, min: number, max: number, ...rules: Rule[]) =>
  ruled(z.array(item).min(min).max(max), { description, ...ATOMIC }, ...rules);

/** List with a key: server-side apply merges by it, and two items of one key are refused. */
export const listBy = <T extends z.ZodType>(description: string, key: string, item: T, min: number, max: number) =>
  z
    .array(item)
    .min(min)
    .max(max)
    .check(
      z.superRefine(
        (items, context) => {
          for (const index of repeats(items, key))
            context.addIssue({ code: 'custom', path: [index, key], message: `${key} must be unique in the list` });
        },
        { when: () => true },
      ),
    )
    .meta({ description, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] });

function repeats(items: readonly unknown[], key: string): number[] {
  const seen = new Set<unknown>();
  return (Array.isArray(items) ? items : []).flatMap((item, index) => {
    const value: unknown = item?.[key];
    if (value === undefined || !seen.has(value)) {
      seen.add(value);
      return [];
    }
    return [index];
  });
}

const VARIABLE: KeyForm = {
  pattern: /^[A-Za-z_][A-Za-z0-9_]{0,252}$/,
  message: 'names of variables must be letters, digits and _, not starting with a digit',
};
const HEADER: KeyForm = {
  pattern: /^[A-Za-z0-9-]{1,128}$/,
  message: 'names of headers must be letters, digits and -',
};

interface KeyForm {
  readonly pattern: RegExp;
  readonly message: string;
}

/** Map from names to text. A CRD cannot say what keys look like, so a rule does. */
const textMap = (description: string, maxEntries: number, maxText: number, keys: KeyForm) =>
  ruled(
    z.record(z.string(), z.string().max(maxText).meta({ description: 'Value.' })).check(
      z.superRefine((map, context) => {
        if (Object.keys(map).length > maxEntries)
          context.addIssue({ code: 'custom', message: `must have at most ${maxEntries} entries` });
      }),
    ),
    { description, maxProperties: maxEntries },
    { holds: keysMatch('self', keys.pattern), message: keys.message },
  );

export const variables = (description: string) => textMap(description, 64, 32_768, VARIABLE);
export const headers = (description: string) => textMap(description, 16, 4096, HEADER);
