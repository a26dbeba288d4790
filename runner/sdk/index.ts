export * from './batch.ts';
export * from './element.ts';
export * from './errors.ts';
export * from './rate.ts';
