// Where pushed items are kept that several runners share: beside the state.
import type { PipelineSpec } from '../../crds/schema/index.ts';
import type { ReadSecret } from '../secrets.ts';
import { Database, forgetPushed, forgetPushedIn, PostgresPushStore, type PushStore } from '../sources/index.ts';

interface Place {
  readonly pipeline?: string;
  readonly spec?: PipelineSpec;
  readonly secret: ReadSecret;
}

/** Undefined: the state is on this machine, and so are pushed items. */
export function pushStoreOf(source: string, { pipeline, spec, secret }: Place): PushStore | undefined {
  const postgres = spec?.state.postgres;
  if (postgres === undefined || pipeline === undefined) return undefined;
  const database = new Database(() => secret(postgres.urlFrom));
  return new PostgresPushStore({ database, schema: postgres.schema, pipeline, source });
}

/** A source, or the whole Pipeline with `sources`, is gone for good: so is what was pushed to it. */
export async function forgetPushedTo(
  source: string | undefined,
  { keepDir, sources, ...place }: Place & { readonly keepDir: string; readonly sources: readonly string[] },
): Promise<void> {
  const { pipeline, spec, secret } = place;
  const postgres = spec?.state.postgres;
  if (postgres === undefined || pipeline === undefined)
    return forgetPushedIn(keepDir, source === undefined ? sources : [source]);
  const database = new Database(() => secret(postgres.urlFrom));
  try {
    await forgetPushed(database, { schema: postgres.schema, pipeline, source });
  } finally {
    await database.close();
  }
}
