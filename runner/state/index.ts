// Adapters of the port `StateStore`: the durable truth of one Pipeline.

export { PostgresState, type PostgresStateOptions } from './postgres/store.ts';
export { StateInUseError } from './sqlite/lock.ts';
export { SqliteState, type SqliteStateOptions } from './sqlite/store.ts';
