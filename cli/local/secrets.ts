// Where secret values come from on one machine: the named variable, or, for a key of a Secret, a variable named after both.
import type { SecretFrom } from '../../runner/secrets.ts';
import { CommandError } from '../exit.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variable that stands for a key of a Secret here: `index-db`, `url` is FAIRLEAD_SECRET_INDEX_DB_URL. */
export function secretVariable(ref: { readonly name: string; readonly key: string }): string {
  return `FAIRLEAD_SECRET_${`${ref.name}_${ref.key}`.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
}

/** A Secret that stands in the same files. */
export interface SecretObject {
  readonly name: string;
  readonly values: Readonly<Record<string, string>>;
}

/**
 * Value of a secret: of the variable that is named, of a Secret in the same files, or of the variable that stands for it.
 * Throws CommandError that names what to set, never a value.
 */
export function resolveSecret(from: SecretFrom, secrets: readonly SecretObject[], environment: Environment): string {
  const ref = from.secretKeyRef;
  const variable = from.env ?? (ref === undefined ? '' : secretVariable(ref));
  const written = ref && secrets.find((secret) => secret.name === ref.name)?.values[ref.key];
  const value = written ?? environment[variable];
  if (value !== undefined && value !== '') return value;
  if (ref === undefined) throw new CommandError(`the variable ${variable}, which an object names, is not set`);
  throw new CommandError(
    `the key ${ref.key} of the Secret ${ref.name} is not known here: put the Secret into the same files, or set ${variable}`,
  );
}
