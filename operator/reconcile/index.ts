export * from './cards/allocate.ts';
export * from './cards/offer.ts';
export * from './runners/plan.ts';
export * from './status/conditions.ts';
export type * from './status/picture.ts';
export * from './status/status.ts';
