export {
  type Cards,
  type Component,
  enterRun,
  type LiveMounting,
  type MemoId,
  type ModuleContext,
  type ModuleFunction,
  type MountHandle,
  type Mounting,
  type Progress,
  type RunHost,
} from './ambient.ts';
export * from './batch.ts';
export { mountEachStream } from './components.ts';
export * from './element.ts';
export * from './errors.ts';
export type { LiveChange, LiveComponent, LiveOperator, LiveOutcome, LiveView } from './live.ts';
export * from './rate.ts';
export { type BatchedCalls, batchedCalls } from './update-batcher.ts';
