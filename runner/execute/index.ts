export { type Audit, auditTargets } from './audit.ts';
export { callFor } from './calls.ts';
export { Engine, type EngineOptions, type RunProgress } from './engine.ts';
export { toRunError } from './failure.ts';
export { planFingerprint } from './plan.ts';
export type * from './ports.ts';
export { type OwnedRow, packRows, unpackRows } from './rows.ts';
export { troubledPage } from './troubled.ts';
