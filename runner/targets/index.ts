// Adapters of the port `Target`: places where rows go.
export { JsonlTarget, type JsonlTargetOptions } from './jsonl/target.ts';
export { TargetRefused } from './ownership.ts';
export { PostgresTarget, type PostgresTargetOptions } from './postgres/target.ts';
export { SqliteTarget, type SqliteTargetOptions } from './sqlite/target.ts';
export type { Metric, VectorColumn } from './vectors.ts';
