export { Gateway, type GatewayOptions, LEASE_DEFAULTS, type LeaseSettings } from './gateway.ts';
export type * from './ports.ts';
export type { ServedSession, SessionPhase } from './session.ts';
