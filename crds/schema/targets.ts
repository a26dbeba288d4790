// Targets: where rows go. A target makes and migrates its own tables and refuses one that is not its own.
import { z } from 'zod';
import { choice, exactlyOne, int, listBy, name, object, patterned, text } from './fields.ts';
import { httpUrl, secretFrom } from './secrets.ts';

const vector = object('Vectors of the rows. Absent: rows have no vectors.', {
  dimensions: int('Width of the vectors. A change rebuilds the rows.', 1, 16_384),
  metric: choice(
    'How near two vectors are: cosine, l2 or dot. Default cosine. A change rebuilds the rows.',
    'cosine',
    'l2',
    'dot',
  ).default('cosine'),
}).optional();

const fullText = z.boolean().default(true).meta({
  description: 'Whether texts can be searched by their words, and hybrid search has both halves. Default true.',
});

const table = (what: string) =>
  patterned(
    `Name of the ${what}: lower case letters, digits and underscores.`,
    48,
    /^[a-z_][a-z0-9_]*$/,
    'must be lower case letters, digits and _, not starting with a digit',
  );

const sqlite = object('A table in a SQLite file, with vectors (sqlite-vec) and full text (FTS5).', {
  path: text(
    'File. Absent: the file of state.sqlite, so that rows and record commit in one transaction; with state.postgres, a file named after the target in the working directory of the runner.',
    4096,
  ).optional(),
  table: table('table'),
  vector,
  fullText,
}).optional();

const postgres = object('A table in Postgres, with vectors (pgvector) and full text (tsvector).', {
  urlFrom: secretFrom(
    'Address of the database, such as postgres://user:password@host:5432/db. The database of state.postgres commits rows and record in one transaction.',
  ),
  schema: table('schema').default('public'),
  table: table('table'),
  vector,
  fullText,
  language: patterned(
    'Text search configuration of Postgres, such as english. Default simple.',
    63,
    /^[a-z_]+$/,
    'must be lower case letters and _',
  ).default('simple'),
}).optional();

const qdrant = object(
  'A collection in Qdrant. Declared and not built yet: a runner refuses a Pipeline that has one; use postgres.',
  {
    url: httpUrl('Address of the server, such as http://qdrant:6333.'),
    keyFrom: secretFrom('API key. Absent: none is sent.').optional(),
    collection: patterned('Name of the collection.', 255, /^[A-Za-z0-9_-]+$/, 'must be letters, digits, _ and -'),
    vector,
  },
).optional();

const lancedb = object(
  'A table in LanceDB. Declared and not built yet: a runner refuses a Pipeline that has one; use sqlite.',
  {
    uri: text('Folder, or address such as s3://bucket/path.', 2048),
    table: table('table'),
    vector,
  },
).optional();

const jsonl = object('A file with one JSON object a line, rewritten as rows change; for tests, debugging and export.', {
  path: text('File.', 4096),
}).optional();

const target = exactlyOne(
  'A target. Exactly one of sqlite, postgres, qdrant, lancedb and jsonl.',
  { sqlite, postgres, qdrant, lancedb, jsonl },
  { name: name('Name, by which export steps refer to the target.') },
);

export const targets = listBy('Where rows go.', 'name', target, 1, 16);

/** A target: its name, and exactly one kind. */
export type TargetSpec = z.infer<typeof target>;
export type SqliteTargetSpec = NonNullable<TargetSpec['sqlite']>;
export type PostgresTargetSpec = NonNullable<TargetSpec['postgres']>;
export type QdrantTargetSpec = NonNullable<TargetSpec['qdrant']>;
export type LancedbTargetSpec = NonNullable<TargetSpec['lancedb']>;
export type JsonlTargetSpec = NonNullable<TargetSpec['jsonl']>;
export type VectorSpec = NonNullable<SqliteTargetSpec['vector']>;
