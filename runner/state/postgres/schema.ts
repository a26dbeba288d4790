// Tables of the shared state. One schema of a database may hold the states of several Pipelines: `states` lists them, and the tables of each
// begin with the letter s and its number.
//   T1. An item and its component are one row, unique by the parent's path and the last segment.
//   T2. Row ids come from a sequence and are never given twice; only rows that are really new take one.
import type { Postgres, Queryable } from '../../database/index.ts';

const VERSION = 1;
/** Taken while tables are made, so that runners that start together do not collide. Any constant will do. */
const MAKING_LOCK = 0x4641_4952;

/** A Pipeline's state in a database. */
export interface StateTables {
  readonly schema: string;
  readonly number: number;
  readonly stateId: string;
  /** Qualified name of one of its tables. */
  readonly table: (name: string) => string;
}

export interface StatePlace {
  readonly schema: string;
  /** `namespace/name` of the Pipeline. */
  readonly pipeline: string;
}

/** Finds the Pipeline's tables or makes them; refuses those of a newer version. */
export async function prepareTables(database: Postgres, place: StatePlace): Promise<StateTables> {
  const found = await findTables(database, place);
  if (found !== undefined && (await exists(database, `${place.schema}.tenures`))) return found;
  await database.transact(async (connection) => {
    await connection.run('SELECT pg_advisory_xact_lock($1)', [MAKING_LOCK]);
    await connection.run(`CREATE SCHEMA IF NOT EXISTS ${place.schema}`);
    for (const statement of listsOf(place.schema)) await connection.run(statement);
    const [inserted] = await connection.rows<[number]>(
      `INSERT INTO ${place.schema}.states(pipeline, version) VALUES ($1, $2) ON CONFLICT (pipeline) DO NOTHING RETURNING number`,
      [place.pipeline, VERSION],
    );
    if (inserted === undefined) return;
    for (const statement of tablesOf(`${place.schema}.s${inserted[0]}_`)) await connection.run(statement);
  });
  const made = await findTables(database, place);
  if (made === undefined) throw new Error(`the state of Pipeline ${place.pipeline} vanished while it was made`);
  return made;
}

/** The Pipeline's tables; undefined if it has none yet. */
export async function findTables(
  database: Postgres,
  { schema, pipeline }: StatePlace,
): Promise<StateTables | undefined> {
  if (!(await exists(database, `${schema}.states`))) return undefined;
  const [row] = await database.rows<[number, number, string]>(
    `SELECT number, version, state_id::text FROM ${schema}.states WHERE pipeline = $1`,
    [pipeline],
  );
  if (row === undefined) return undefined;
  const [number, version, stateId] = row;
  if (version !== VERSION)
    throw new Error(
      `the state of Pipeline ${pipeline} in schema ${schema} of ${database.place} has version ${version} and this Fairlead understands ` +
        `version ${VERSION}: run the Fairlead that made it, or set another state.postgres.schema to index from the start`,
    );
  return { schema, number, stateId, table: (name) => `${schema}.s${number}_${name}` };
}

async function exists(database: Postgres, table: string): Promise<boolean> {
  const [row] = await database.rows<[string | null]>('SELECT to_regclass($1)::text', [table]);
  return row?.[0] !== null;
}

/** Removes the Pipeline's state, tables and all. */
export async function dropTables(connection: Queryable, tables: StateTables): Promise<void> {
  for (const name of TABLES) await connection.run(`DROP TABLE IF EXISTS ${tables.table(name)}`);
  for (const name of ['ids', 'seqs']) await connection.run(`DROP SEQUENCE IF EXISTS ${tables.table(name)}`);
  await connection.run(`DELETE FROM ${tables.schema}.states WHERE number = $1`, [tables.number]);
}

/** What stands once for all Pipelines of a schema: their states, and which processes work on them (`tenure.ts`). */
const listsOf = (schema: string): string[] => [
  `CREATE TABLE IF NOT EXISTS ${schema}.states(
    number serial PRIMARY KEY,
    pipeline text NOT NULL UNIQUE,
    version int NOT NULL,
    state_id uuid NOT NULL DEFAULT gen_random_uuid(),
    epoch bigint NOT NULL DEFAULT 0
  )`,
  `ALTER TABLE ${schema}.states ADD COLUMN IF NOT EXISTS shift bigint`,
  `CREATE TABLE IF NOT EXISTS ${schema}.tenures(
    id bigserial PRIMARY KEY,
    number int NOT NULL REFERENCES ${schema}.states ON DELETE CASCADE,
    pid int NOT NULL,
    host text NOT NULL,
    is_runner boolean NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    renewed timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
];

const TABLES = ['components', 'holdings', 'intents', 'removed', 'work', 'memo', 'cursors', 'updates'] as const;

/** Texts compare by bytes (`COLLATE "C"`), as everywhere else in Fairlead. */
const tablesOf = (prefix: string): string[] => [
  `CREATE SEQUENCE ${prefix}ids`,
  `CREATE SEQUENCE ${prefix}seqs`,
  `CREATE TABLE ${prefix}components(
    id bigint PRIMARY KEY,
    parent text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    is_item boolean NOT NULL,
    status int NOT NULL,
    version text NOT NULL,
    fingerprint text NOT NULL,
    hash text NOT NULL,
    epoch bigint NOT NULL,
    run bigint NOT NULL,
    attempt int NOT NULL,
    committed_at float8 NOT NULL,
    seen_at float8 NOT NULL,
    failures int NOT NULL,
    losses int NOT NULL,
    memoised boolean NOT NULL,
    error text,
    UNIQUE (parent, key)
  ) WITH (fillfactor = 85)`,
  `CREATE INDEX ON ${prefix}components(parent, id) WHERE is_item`,
  `CREATE INDEX ON ${prefix}components(id) WHERE status > 0`,
  `CREATE TABLE ${prefix}holdings(component bigint PRIMARY KEY, rows bytea, value text)`,
  `CREATE TABLE ${prefix}intents(
    id bigserial PRIMARY KEY, component bigint NOT NULL, epoch bigint NOT NULL, run bigint NOT NULL, attempt int NOT NULL, rows bytea NOT NULL
  )`,
  `CREATE INDEX ON ${prefix}intents(component)`,
  `CREATE TABLE ${prefix}removed(
    path text COLLATE "C" PRIMARY KEY, epoch bigint NOT NULL, run bigint NOT NULL, attempt int NOT NULL, removed_at float8 NOT NULL
  )`,
  `CREATE INDEX ON ${prefix}removed(removed_at)`,
  `CREATE TABLE ${prefix}work(
    seq bigint PRIMARY KEY,
    parent text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    is_delete boolean NOT NULL,
    version text NOT NULL,
    size bigint,
    reprocess boolean NOT NULL,
    fresh boolean NOT NULL,
    seen_at float8 NOT NULL,
    started int NOT NULL DEFAULT 0,
    losses int NOT NULL DEFAULT 0,
    UNIQUE (parent, key)
  )`,
  `CREATE INDEX ON ${prefix}work(owner, seq)`,
  `CREATE TABLE ${prefix}memo(key text COLLATE "C" PRIMARY KEY, component bigint, retired_at float8, value bytea NOT NULL)`,
  `CREATE INDEX ON ${prefix}memo(component) WHERE component IS NOT NULL`,
  `CREATE INDEX ON ${prefix}memo(retired_at) WHERE component IS NULL`,
  `CREATE TABLE ${prefix}cursors(path text COLLATE "C" PRIMARY KEY, value text NOT NULL)`,
  `CREATE TABLE ${prefix}updates(id bigserial PRIMARY KEY, name text NOT NULL UNIQUE, record text NOT NULL)`,
];
