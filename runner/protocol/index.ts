export type * from './link.ts';
export * from './messages.ts';
export * from './path.ts';
