export type { Contender, ServingRule } from './rules.ts';
export { fewestHeldFirst, fifo, fixedShare, roundRobin, strictPriority } from './rules.ts';
export { AdmissionTree } from './tree.ts';
export type * from './types.ts';
