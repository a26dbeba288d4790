// Adapters of the port `StateStore`: the durable truth of one Pipeline.
export { StateInUseError } from './sqlite/lock.ts';
export { SqliteState, type SqliteStateOptions } from './sqlite/store.ts';
