// Waiting on a clock, between attempts or for a permission.
import type { Clock } from '../clock.ts';

/** Waits; an abort ends the wait at once, without an error. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal.addEventListener('abort', done);
  });
}

/** Full jitter over an exponential: between 0 and `firstMs` × 2^(attempt − 1), at most `maxMs`. */
export function jitteredBackoff(attempt: number, firstMs: number, maxMs: number, random: () => number): number {
  return random() * Math.min(maxMs, firstMs * 2 ** (attempt - 1));
}
