export * from './control.ts';
export * from './leadership.ts';
export * from './let-go.ts';
export * from './operator.ts';
export * from './probes.ts';
