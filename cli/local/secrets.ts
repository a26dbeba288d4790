// Where secret values come from on one machine: the named variable, or, for a key of a Secret, a variable named after both.
import { CommandError } from '../exit.ts';

/** Reference to a secret value, as it stands in an object. */
export interface SecretFrom {
  readonly secretKeyRef?: { readonly name: string; readonly key: string } | undefined;
  readonly env?: string | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variable that stands for a key of a Secret here: `index-db`, `url` is FAIRLEAD_SECRET_INDEX_DB_URL. */
export function secretVariable(ref: { readonly name: string; readonly key: string }): string {
  return `FAIRLEAD_SECRET_${`${ref.name}_${ref.key}`.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
}

/** Value of a secret. Throws CommandError that names the variable to set, never a value. */
export function resolveSecret(from: SecretFrom, environment: Environment): string {
  const variable = from.env ?? secretVariable(from.secretKeyRef ?? { name: '', key: '' });
  const value = environment[variable];
  if (value !== undefined && value !== '') return value;
  if (from.env !== undefined) throw new CommandError(`the variable ${variable}, which an object names, is not set`);
  const { name, key } = from.secretKeyRef ?? { name: '', key: '' };
  throw new CommandError(`there is no cluster here to read the Secret ${name} from: set ${variable} to its key ${key}`);
}
