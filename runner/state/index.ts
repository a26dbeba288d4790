// Adapters of the port `StateStore`: the durable truth of one Pipeline.

export { type Holder, holderText, type Lease, StateInUseError } from './holder.ts';
export { PostgresState, type PostgresStateOptions } from './postgres/store.ts';
export { SqliteState, type SqliteStateOptions } from './sqlite/store.ts';
