export { Dispatcher, type DispatcherOptions, type JoinedRunner, type RunnerStart } from './dispatcher.ts';
export { fanOut } from './fan-out.ts';
export type { RunPhase, RunPicture } from './look.ts';
export type { SourceSettings, SourceStart } from './open-update.ts';
export type { Defer } from './outbox.ts';
export type * from './ports.ts';
export type { Seat, SeatPhase } from './seat.ts';
export type * from './update.ts';
export type { ItemNeeds } from './updates.ts';
