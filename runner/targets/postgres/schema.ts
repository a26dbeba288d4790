// The table of one target in Postgres: one row for each row, made for people to query too.
//   id, owner, source, key, text, start_byte, end_byte, start_line, end_line, language, fields, embedding (pgvector), words (tsvector)
// `fairlead_targets` in the same schema says which tables are Fairlead's, and with what settings they were made.
// There is no index over vectors: a scan of 66,000 of 384 dimensions takes less than 0.1 s, and building an HNSW index takes minutes. Who has
// millions of rows adds one (`CREATE INDEX ON t USING hnsw (embedding vector_cosine_ops)`); searches use it, and Fairlead leaves it alone.
import { randomBytes } from 'node:crypto';
import type { Postgres, Queryable } from '../../database/index.ts';
import { TargetRefused } from '../ownership.ts';
import type { VectorColumn } from '../vectors.ts';

const VERSION = 1;

export interface TargetSettings {
  readonly schema: string;
  readonly table: string;
  readonly vector?: VectorColumn;
  readonly fullText: boolean;
  /** Text search configuration of the server. */
  readonly language: string;
}

/** What the database says of a target that was made in it. */
export interface Registered extends Omit<TargetSettings, 'schema'> {
  readonly version: number;
  /** Changes whenever the rows are gone: a new table, a rebuild. */
  readonly generation: string;
  readonly pipeline: string;
  readonly stateId: string;
}

export const tableOf = ({ schema, table }: Pick<TargetSettings, 'schema' | 'table'>): string => `${schema}.${table}`;
const registryOf = (schema: string): string => `${schema}.fairlead_targets`;

export async function hasTable(on: Queryable, name: string): Promise<boolean> {
  const [row] = await on.rows<[string | null]>('SELECT to_regclass($1)::text', [name]);
  return row?.[0] !== null;
}

export async function readRegistered(
  on: Queryable,
  { schema, table }: TargetSettings,
): Promise<Registered | undefined> {
  if (!(await hasTable(on, registryOf(schema)))) return undefined;
  const [row] = await on.rows<[Registered]>(`SELECT settings FROM ${registryOf(schema)} WHERE name = $1`, [table]);
  return row?.[0];
}

export async function register(on: Queryable, schema: string, registered: Registered): Promise<void> {
  await on.run(`CREATE TABLE IF NOT EXISTS ${registryOf(schema)}(name text PRIMARY KEY, settings jsonb NOT NULL)`);
  await on.run(
    `INSERT INTO ${registryOf(schema)}(name, settings) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET settings = excluded.settings`,
    [registered.table, JSON.stringify(registered)],
  );
}

/** Makes the table anew. */
export async function create(
  on: Queryable,
  settings: TargetSettings,
  owner: Pick<Registered, 'pipeline' | 'stateId'>,
): Promise<Registered> {
  for (const statement of statementsOf(settings)) await on.run(statement);
  const { schema, ...rest } = settings;
  const registered = { ...rest, ...owner, version: VERSION, generation: randomBytes(6).toString('hex') };
  await register(on, schema, registered);
  return registered;
}

/** Rows up to a page stay in one piece: a scan over vectors does not fetch each from beside the table. */
function statementsOf(settings: TargetSettings): string[] {
  const table = tableOf(settings);
  const vector =
    settings.vector === undefined ? '' : `, embedding vector(${settings.vector.dimensions}), vector_key uuid`;
  const statements = [
    `CREATE TABLE ${table}(
      id uuid PRIMARY KEY,
      owner text COLLATE "C" NOT NULL,
      source text NOT NULL,
      key text NOT NULL,
      text text,
      start_byte int8, end_byte int8, start_line int4, end_line int4,
      language text,
      fields jsonb,
      adopted boolean NOT NULL DEFAULT false
      ${vector}
    ) WITH (toast_tuple_target = 8160)`,
    `CREATE INDEX ON ${table}(owner)`,
    `CREATE INDEX ON ${table}(adopted) WHERE adopted`,
  ];
  if (settings.vector !== undefined)
    statements.push(`CREATE INDEX ON ${table}(vector_key) WHERE vector_key IS NOT NULL`);
  return settings.fullText ? [...statements, ...wordsOf(settings)] : statements;
}

export const wordsOf = (settings: TargetSettings): string[] => [
  `ALTER TABLE ${tableOf(settings)} ADD COLUMN words tsvector`,
  `CREATE INDEX ON ${tableOf(settings)} USING gin(words)`,
];

export const dropTable = (on: Queryable, settings: TargetSettings): Promise<number> =>
  on.run(`DROP TABLE IF EXISTS ${tableOf(settings)}`);

export async function forget(on: Queryable, { schema, table }: TargetSettings): Promise<void> {
  if (await hasTable(on, registryOf(schema)))
    await on.run(`DELETE FROM ${registryOf(schema)} WHERE name = $1`, [table]);
}

export const isCurrent = (registered: Registered): boolean => registered.version === VERSION;

/** Whether rows of one setting can stay under the other. */
export function keepsRows(before: Pick<TargetSettings, 'vector'>, now: TargetSettings): boolean {
  return before.vector?.dimensions === now.vector?.dimensions && before.vector?.metric === now.vector?.metric;
}

/** Makes sure that the server has pgvector; a clear word about what to do where it has not. */
export async function requireVector(database: Postgres, target: string): Promise<void> {
  const [type] = await database.rows<[string | null]>("SELECT to_regtype('vector')::text");
  if (type?.[0] !== null) return;
  try {
    await database.run('CREATE EXTENSION IF NOT EXISTS vector');
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (code === '23505' || code === '42710') return; // Another runner made it at the same moment.
    throw new TargetRefused(target, `${missingVector(database.place, code)} (${message})`);
  }
}

function missingVector(place: string, code: string | undefined): string {
  if (code === '42501')
    return `the database ${place} has pgvector, but this user may not create it: have an administrator run CREATE EXTENSION vector there`;
  return `the server of ${place} has no pgvector: install it (package postgresql-NN-pgvector, or an image that has it), or leave out vector`;
}
