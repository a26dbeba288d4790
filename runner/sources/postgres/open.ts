// Makes the postgres source of a spec.
import type { Clock } from '../../clock.ts';
import type { Source } from '../../execute/index.ts';
import type { ReadSecret } from '../../secrets.ts';
import type { PostgresSpec } from '../common/spec.ts';
import { Database } from './database.ts';
import { PostgresSource } from './source.ts';

export function openPostgres(
  spec: PostgresSpec,
  options: { readonly clock: Clock; readonly secret: ReadSecret },
): Source {
  return new PostgresSource(spec, new Database(() => options.secret(spec.urlFrom)), options.clock);
}
