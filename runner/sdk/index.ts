export * from './element.ts';
export * from './errors.ts';
