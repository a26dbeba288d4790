export * from './cards/allocate.ts';
export * from './cards/offer.ts';
export * from './runners/plan.ts';
