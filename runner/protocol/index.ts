export * from './messages.ts';
export * from './path.ts';
