// Tables of one target in a SQLite file. `T` is the name that the user gave:
//   T            a view for people and their own queries: id, source, key, text, place, language, fields, owner
//   T_rows       rows; `n` is the row's number, which the other tables share
//                (found by owner and id: ids alone are random, and an index over them would be written all over with every commit)
//   T_owners     components that own rows; `adopted` marks those of a state that was lost
//   T_vectors    vectors as plain values: inserting is twice as fast as into vec0, deletes leave no holes, and a scan of 66,000
//                vectors of 384 dimensions takes 0.1 s (docs/decisions)
//   T_words      full text (FTS5, contentless)
// `fairlead_targets` says which tables of the file are Fairlead's, and with what settings they were made.
import { randomBytes } from 'node:crypto';
import type { Sqlite } from '../../database/index.ts';
import type { VectorColumn } from '../vectors.ts';

const VERSION = 1;

export interface TargetSettings {
  readonly table: string;
  readonly vector?: VectorColumn;
  readonly fullText: boolean;
}

/** What a file says of a target that was made in it. */
export interface Registered extends TargetSettings {
  readonly version: number;
  /** Changes whenever the rows are gone: a new table, a rebuild. */
  readonly generation: string;
  /** Pipeline and state that write to it. */
  readonly pipeline: string;
  readonly stateId: string;
}

export function readRegistered(database: Sqlite, table: string): Registered | undefined {
  if (!database.hasTable('fairlead_targets')) return undefined;
  const cells = database.sql('SELECT settings FROM fairlead_targets WHERE name = ?').get(table);
  return cells === undefined ? undefined : (JSON.parse((cells as unknown as [string])[0]) as Registered);
}

export function register(database: Sqlite, registered: Registered): void {
  database.exec(
    'CREATE TABLE IF NOT EXISTS fairlead_targets(name TEXT PRIMARY KEY, settings TEXT NOT NULL) WITHOUT ROWID',
  );
  database
    .sql('INSERT OR REPLACE INTO fairlead_targets(name, settings) VALUES (?, ?)')
    .run(registered.table, JSON.stringify(registered));
}

/** Makes the tables anew. */
export function create(
  database: Sqlite,
  settings: TargetSettings,
  owner: Pick<Registered, 'pipeline' | 'stateId'>,
): Registered {
  database.exec(tablesOf(settings));
  if (settings.vector !== undefined) database.exec(vectorsOf(settings.table));
  if (settings.fullText) database.exec(wordsOf(settings.table));
  const registered = { ...settings, ...owner, version: VERSION, generation: randomBytes(6).toString('hex') };
  register(database, registered);
  return registered;
}

const tablesOf = ({ table }: TargetSettings) => `
CREATE TABLE ${table}_owners(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, source TEXT NOT NULL, key TEXT NOT NULL, adopted INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE ${table}_rows(
  n INTEGER PRIMARY KEY, id BLOB NOT NULL, owner INTEGER NOT NULL, text TEXT,
  start_byte INTEGER, end_byte INTEGER, start_line INTEGER, end_line INTEGER, language TEXT, fields TEXT
);
CREATE UNIQUE INDEX ${table}_rows_id ON ${table}_rows(owner, id);
CREATE VIEW ${table} AS
  SELECT lower(hex(r.id)) AS id, o.source, o.key, r.text, r.start_byte, r.end_byte, r.start_line, r.end_line, r.language, r.fields, o.path AS owner
  FROM ${table}_rows r JOIN ${table}_owners o ON o.id = r.owner;
`;

const vectorsOf = (table: string) => `
CREATE TABLE ${table}_vectors(n INTEGER PRIMARY KEY, key BLOB, norm REAL, vector BLOB NOT NULL);
CREATE INDEX ${table}_vectors_key ON ${table}_vectors(key) WHERE key IS NOT NULL;
`;

/** Merging of index segments is put off until there are more of them: a first index takes a third less time, a search little more. */
export const wordsOf = (table: string) => `
CREATE VIRTUAL TABLE ${table}_words USING fts5(text, content='', contentless_delete=1, tokenize='unicode61');
INSERT INTO ${table}_words(${table}_words, rank) VALUES ('automerge', 16), ('crisismerge', 64);
`;

export function dropTables(database: Sqlite, table: string): void {
  database.exec(`
    DROP VIEW IF EXISTS ${table};
    DROP TABLE IF EXISTS ${table}_rows;
    DROP TABLE IF EXISTS ${table}_owners;
    DROP TABLE IF EXISTS ${table}_vectors;
    DROP TABLE IF EXISTS ${table}_words;
  `);
}

/** Tables of the names that a target would use; there are some and none is registered: they are somebody else's. */
export function foreignTables(database: Sqlite, table: string): string[] {
  return ['', '_rows', '_owners', '_vectors', '_words']
    .map((suffix) => `${table}${suffix}`)
    .filter((name) => database.hasTable(name));
}

/** Whether nobody has dropped a table of a target that was made. */
export function isWhole(database: Sqlite, { table, vector, fullText }: TargetSettings): boolean {
  const parts = [
    '',
    '_rows',
    '_owners',
    ...(vector === undefined ? [] : ['_vectors']),
    ...(fullText ? ['_words'] : []),
  ];
  return parts.every((part) => database.hasTable(`${table}${part}`));
}

export const isCurrent = (registered: Registered): boolean => registered.version === VERSION;

/** Whether rows of one setting can stay under the other. */
export function keepsRows(before: TargetSettings, now: TargetSettings): boolean {
  return before.vector?.dimensions === now.vector?.dimensions && before.vector?.metric === now.vector?.metric;
}
