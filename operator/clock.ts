// The operator's view of time; the port is the runner's, so that one virtual clock drives both in tests.
import type { Clock } from '../runner/clock.ts';

export { type CancelTimer, type Clock, systemClock } from '../runner/clock.ts';

/**
 * The same time, read once a turn: what runners say in one batch is decided at one moment. Three readings a run were 2 % of an operator's time.
 * Not where work of steps shares the thread: a turn could then be long.
 */
export function turnClock(clock: Clock): Clock {
  let readMs: number | undefined;
  const forget = (): void => {
    readMs = undefined;
  };
  return {
    after: (delayMs, wake) => clock.after(delayMs, wake),
    nowMs: () => {
      if (readMs === undefined) {
        readMs = clock.nowMs();
        queueMicrotask(forget);
      }
      return readMs;
    },
  };
}
