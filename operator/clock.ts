// The operator's view of time; the port is the runner's, so that one virtual clock drives both in tests.
export { type CancelTimer, type Clock, systemClock } from '../runner/clock.ts';
