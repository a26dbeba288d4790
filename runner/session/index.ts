export { type Connection, type ConnectOptions, connect } from './connect.ts';
export { DeferredEngine } from './deferred-engine.ts';
export { type DialOptions, dialer } from './dial.ts';
export { type LinkOptions, type LinkOwner, type RunnerIdentity, RunnerLink } from './link.ts';
export { type LinkPort, RunnerSession, type SessionOptions } from './session.ts';
export * from './specs-text.ts';
export type { LinkThreadOptions, RunnerSpecs } from './thread-messages.ts';
