export type { Explanation, Level, RunHistory, Standing } from './explain.ts';
export type { Contender, ServingRule } from './rules.ts';
export { fewestHeldFirst, fifo, fixedShare, roundRobin, strictPriority } from './rules.ts';
export type { BranchSnapshot, TreeSnapshot } from './snapshot.ts';
export { AdmissionTree } from './tree.ts';
export type * from './types.ts';
