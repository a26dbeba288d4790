export { Activity, OWN_UPDATES, type SourceActivity } from './activity.ts';
export type { CardBranchPicture, CardPicture, CardsPicture } from './cards.ts';
export * from './host.ts';
export type { Failure } from './recent.ts';
export { type ItemCounts, type Past, Records, type SourceTrouble, type UpdateRecord } from './records.ts';
export * from './specs.ts';
