export { Sqlite, type SqliteLodger, type SqliteOptions } from './sqlite.ts';
