// What a Pipeline may have in flight: the spec wins, then the variable, then the default. Slots: 1024; rows and bytes: no limit.
import { DEFAULT_MAX_INFLIGHT_COMPONENTS, MAX_INFLIGHT_COMPONENTS_BOUNDS } from './pipeline.ts';
import { QUANTITY_PATTERN, quantityBytes } from './quantity.ts';
import { INFLIGHT_BYTES_BOUNDS, INFLIGHT_ROWS_BOUNDS, type LimitsSpec } from './steps.ts';

export const MAX_INFLIGHT_COMPONENTS_VARIABLE = 'FAIRLEAD_MAX_INFLIGHT_COMPONENTS';
export const SOURCE_MAX_INFLIGHT_ROWS_VARIABLE = 'FAIRLEAD_SOURCE_MAX_INFLIGHT_ROWS';
export const SOURCE_MAX_INFLIGHT_BYTES_VARIABLE = 'FAIRLEAD_SOURCE_MAX_INFLIGHT_BYTES';

type Environment = Readonly<Record<string, string | undefined>>;

/** Bounds in force. */
export interface Inflight {
  readonly slotsMax: number;
  /** Of all sources of the Pipeline together; what is absent has no limit. */
  readonly limits: { readonly rows?: number; readonly bytes?: number };
}

export type ResolvedInflight =
  | ({ readonly kind: 'value' } & Inflight)
  | { readonly kind: 'refused'; readonly message: string };

/** Slots, rows and bytes in force. Anything that is no such bound is refused with a message that names the field or the variable. */
export function resolveInflight(
  spec: { readonly maxInflightComponents?: unknown; readonly limits?: LimitsSpec | undefined },
  env: Environment,
): ResolvedInflight {
  const slots = resolveMaxInflightComponents(spec, env);
  if (slots.kind === 'refused') return slots;
  const { maxInflightRows: writtenRows, maxInflightBytes: writtenBytes } = spec.limits ?? {};
  const rows = writtenRows ?? bounded(SOURCE_MAX_INFLIGHT_ROWS_VARIABLE, env, integerOf, INFLIGHT_ROWS_BOUNDS);
  const bytes =
    writtenBytes === undefined
      ? bounded(SOURCE_MAX_INFLIGHT_BYTES_VARIABLE, env, bytesOf, INFLIGHT_BYTES_BOUNDS)
      : quantityBytes(writtenBytes);
  for (const one of [rows, bytes]) if (typeof one === 'object') return one;
  return {
    kind: 'value',
    slotsMax: slots.value,
    limits: { ...(typeof rows === 'number' && { rows }), ...(typeof bytes === 'number' && { bytes }) },
  };
}

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly what: string;
}

/** The variable's value; undefined: it is not set. */
function bounded(
  name: string,
  env: Environment,
  read: (text: string) => number,
  { min, max, what }: Bounds,
): number | { readonly kind: 'refused'; readonly message: string } | undefined {
  const text = env[name];
  if (text === undefined) return undefined;
  const value = read(text);
  if (value >= min && value <= max) return value;
  return { kind: 'refused', message: `${name} must be ${what}, not ${JSON.stringify(text)}` };
}

const bytesOf = (text: string): number =>
  QUANTITY_PATTERN.test(text.trim()) ? quantityBytes(text.trim()) : Number.NaN;

/** A value of a setting, and where it comes from. */
export type MaxInflight =
  | { readonly kind: 'value'; readonly value: number; readonly from: 'spec' | 'variable' | 'default' }
  | { readonly kind: 'refused'; readonly message: string };

/**
 * Slots in force. Anything but an integer from 1 to 1,000,000 is refused with a message, also in a variable that is set
 * and empty. A wrong variable is no matter where the spec has a value.
 */
export function resolveMaxInflightComponents(
  spec: { readonly maxInflightComponents?: unknown },
  env: Environment,
): MaxInflight {
  const written = spec.maxInflightComponents;
  if (written !== undefined) return check(written, 'spec', 'spec.maxInflightComponents');
  const variable = env[MAX_INFLIGHT_COMPONENTS_VARIABLE];
  if (variable !== undefined) return check(integerOf(variable), 'variable', MAX_INFLIGHT_COMPONENTS_VARIABLE, variable);
  return { kind: 'value', value: DEFAULT_MAX_INFLIGHT_COMPONENTS, from: 'default' };
}

const integerOf = (text: string): number => (/^[0-9]{1,16}$/.test(text.trim()) ? Number(text) : Number.NaN);

function check(value: unknown, from: 'spec' | 'variable', where: string, written: unknown = value): MaxInflight {
  const { min, max } = MAX_INFLIGHT_COMPONENTS_BOUNDS;
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max)
    return { kind: 'value', value, from };
  return {
    kind: 'refused',
    message: `${where} must be an integer from 1 to 1,000,000, not ${JSON.stringify(written)}`,
  };
}
