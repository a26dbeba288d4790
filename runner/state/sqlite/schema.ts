// Tables of the embedded state.
//   T1. An item and its component are one row; its key is that of its path: the parent's path and the last segment.
//   T2. Row ids grow and are never given twice, so that items seen by a listing fit a bitmap.
//   T3. What compare reads is narrow: rows owned and values stand in `holdings`.
import { randomUUID } from 'node:crypto';
import { NothingIndexed, type Sqlite } from '../../database/index.ts';

const VERSION = 1;

const TABLES = `
CREATE TABLE fairlead_state(key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE parents(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE components(
  id INTEGER PRIMARY KEY,
  parent INTEGER NOT NULL,
  key TEXT NOT NULL,
  is_item INTEGER NOT NULL,
  status INTEGER NOT NULL,
  version TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  hash TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  committed_at REAL NOT NULL,
  seen_at REAL NOT NULL,
  failures INTEGER NOT NULL,
  losses INTEGER NOT NULL,
  memoised INTEGER NOT NULL,
  error TEXT
);
CREATE UNIQUE INDEX components_key ON components(parent, key);
CREATE INDEX components_item ON components(parent) WHERE is_item = 1;
CREATE INDEX components_bad ON components(status) WHERE status > 0;
CREATE TABLE holdings(component INTEGER PRIMARY KEY, rows BLOB, value TEXT);
CREATE TABLE intents(
  id INTEGER PRIMARY KEY,
  component INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  rows BLOB NOT NULL
);
CREATE INDEX intents_component ON intents(component);
CREATE TABLE removed(
  path TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL,
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  removed_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX removed_by_age ON removed(removed_at);
CREATE TABLE work(
  owner INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  parent INTEGER NOT NULL,
  key TEXT NOT NULL,
  is_delete INTEGER NOT NULL,
  version TEXT NOT NULL,
  size INTEGER,
  reprocess INTEGER NOT NULL,
  fresh INTEGER NOT NULL,
  seen_at REAL NOT NULL,
  started INTEGER NOT NULL,
  losses INTEGER NOT NULL,
  PRIMARY KEY (owner, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX work_key ON work(parent, key);
CREATE TABLE owners(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE memo(id INTEGER PRIMARY KEY, key TEXT NOT NULL, component INTEGER, retired_at REAL, value BLOB NOT NULL);
CREATE UNIQUE INDEX memo_key ON memo(key);
CREATE INDEX memo_component ON memo(component) WHERE component IS NOT NULL;
CREATE INDEX memo_retired ON memo(retired_at) WHERE component IS NULL;
CREATE TABLE cursors(path TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE updates(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, record TEXT NOT NULL);
`;

/** Makes the tables, or checks that those that are there are ones that this version can use. */
export function prepareSchema(database: Sqlite): void {
  if (database.hasTable('fairlead_state')) checkVersion(database);
  else if (database.readOnly)
    throw new NothingIndexed(`${database.file} holds no state: nothing was indexed into it yet`);
  else makeTables(database);
}

/** Tables of somebody else stay as they are. */
function refuseForeign(database: Sqlite): void {
  const ours = [...TABLES.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name as string);
  const foreign = ours.filter((name) => database.hasTable(name));
  if (foreign.length === 0) return;
  throw new Error(
    `${database.file} holds tables that are not Fairlead's (${foreign.join(', ')}): name another file for the state`,
  );
}

function makeTables(database: Sqlite): void {
  refuseForeign(database);
  database.transact(() => {
    database.exec(TABLES);
    setMeta(database, 'version', VERSION);
    setMeta(database, 'epoch', 0);
    setMeta(database, 'idsReserved', 0);
    setMeta(database, 'stateId', randomUUID());
  });
}

function checkVersion(database: Sqlite): void {
  const version = getMeta(database, 'version');
  if (version === VERSION) return;
  throw new Error(
    `the state ${database.file} has version ${version} and this Fairlead understands version ${VERSION}: ` +
      'run the Fairlead that made it, or delete the file to index from the start',
  );
}

export function getMeta(database: Sqlite, key: string): number | string | undefined {
  const row = database.sql('SELECT value FROM fairlead_state WHERE key = ?').get(key);
  return row === undefined ? undefined : (row as unknown as [number | string])[0];
}

export function setMeta(database: Sqlite, key: string, value: number | string): void {
  database.sql('INSERT OR REPLACE INTO fairlead_state(key, value) VALUES (?, ?)').run(key, value);
}
