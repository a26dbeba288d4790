// Connections to databases, shared by the rooms of states and targets; nothing here knows what is stored.
export * as binary from './binary.ts';
export { BulkInsert } from './bulk.ts';
export { NothingIndexed } from './nothing-indexed.ts';
export { Postgres, type PostgresLodger, type PostgresOptions, type Queryable, TryAgain } from './postgres.ts';
export { explained, Sqlite, type SqliteLodger, type SqliteOptions } from './sqlite.ts';
export { sqliteAdvice } from './sqlite-failure.ts';
