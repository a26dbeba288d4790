// How many slots a Pipeline has: the spec wins, then the variable, then 1024 (design section 2).
import { DEFAULT_MAX_INFLIGHT_COMPONENTS, MAX_INFLIGHT_COMPONENTS_BOUNDS } from './pipeline.ts';

export const MAX_INFLIGHT_COMPONENTS_VARIABLE = 'FAIRLEAD_MAX_INFLIGHT_COMPONENTS';

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
  env: Readonly<Record<string, string | undefined>>,
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
