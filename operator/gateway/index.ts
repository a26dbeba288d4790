export { Gateway, type GatewayOptions, LEASE_DEFAULTS, type LeaseSettings } from './gateway.ts';
export type * from './ports.ts';
export { type Authenticate, type GatewayServer, type GatewayServerOptions, serveGateway } from './server.ts';
export type { ServedSession, SessionPhase } from './session.ts';
export { sharedToken } from './shared-token.ts';
