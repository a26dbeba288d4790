export * from './cycles.ts';
export * from './keys.ts';
export * from './pipeline-triggers.ts';
export type * from './ports.ts';
export * from './schedule.ts';
export * from './source-triggers.ts';
