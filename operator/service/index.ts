export * from './control.ts';
export * from './leadership.ts';
export * from './operator.ts';
export * from './probes.ts';
