// What a user's module imports as `fairlead/sdk`. All of it is documented in docs/how-to/own-steps.md.
export type {
  Cards,
  Component,
  ModuleContext,
  ModuleFunction,
  MountHandle,
  MountOptions,
} from './ambient.ts';
export type { BatchWeight } from './batch.ts';
export { currentGpuFraction, currentGpus } from './cards.ts';
export {
  declareRow,
  type MountEntry,
  type MountGroup,
  mount,
  mountEach,
  mountEachStream,
  progress,
  useMount,
  useMountEach,
} from './components.ts';
export type { Element, FieldValue, Item, Place } from './element.ts';
export { type FailureClass, RetryWithSmallerBatch, StepError } from './errors.ts';
export {
  type BatchedOptions,
  batched,
  type MemoOptions,
  map,
  memo,
  type RateOptions,
  rateLimit,
} from './functions.ts';
export {
  autoRefresh,
  type EachLiveOptions,
  type LiveChange,
  type LiveComponent,
  type LiveOperator,
  type LiveOutcome,
  type LivePart,
  type LiveView,
  type LiveViewParts,
  liveComponent,
  liveView,
  mountEachLive,
  mountLive,
  type RefreshOptions,
} from './live.ts';
