export { auditOf } from './audit.ts';
export { type Explanation, explanationOf, type Level, type RunHistory, type Standing } from './explain.ts';
export { type BranchSnapshot, snapshotOf, type TreeSnapshot } from './snapshot.ts';
