export { Activity, OWN_UPDATES, type SourceActivity } from './activity.ts';
export { type CardBranchPicture, CardMeter, type CardPicture, type CardsPicture, cardsPicture } from './cards.ts';
export * from './host.ts';
export { type Answer, type Asked, FIRST_TROUBLED, type Question, type TroubledPlace } from './questions.ts';
export { type Failure, Recent } from './recent.ts';
export {
  type EndedUpdate,
  type ItemCounts,
  NO_ITEMS,
  type Past,
  Records,
  type SourceTrouble,
  type UpdateRecord,
} from './records.ts';
export type { ClassDemand, RunnerOnHost, RunnerPicture } from './seats.ts';
export type { SourcePast } from './sources.ts';
export * from './specs.ts';
export { StoreHealth, type StoreTrouble } from './store-health.ts';
