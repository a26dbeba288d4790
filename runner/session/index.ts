export { type LinkOptions, type LinkOwner, type RunnerIdentity, RunnerLink } from './link.ts';
export { type LinkPort, RunnerSession, type SessionOptions } from './session.ts';
