export {
  type Cards,
  type Component,
  enterRun,
  type MemoId,
  type ModuleContext,
  type ModuleFunction,
  type MountHandle,
  type Mounting,
  type RunHost,
} from './ambient.ts';
export * from './batch.ts';
export * from './element.ts';
export * from './errors.ts';
export * from './rate.ts';
export { type BatchedCalls, batchedCalls } from './update-batcher.ts';
