// Time as a port: everything that waits or measures takes a Clock, so that tests own the time.

/** Stops a timer; calling it again does nothing. */
export type CancelTimer = () => void;

export interface Clock {
  /** Milliseconds of the epoch. */
  nowMs(): number;
  /** Milliseconds with fractions since some moment, never going back: for durations. Absent: `nowMs` is as fine as it gets. */
  fineMs?(): number;
  /** Calls `wake` once after `delayMs`. Timers never keep the process alive by themselves. */
  after(delayMs: number, wake: () => void): CancelTimer;
}

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  fineMs: () => performance.now(),
  after: (delayMs, wake) => {
    const timer = setTimeout(wake, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
