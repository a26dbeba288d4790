// Waits that a signal ends.
import type { Clock } from '../../clock.ts';

/** Resolves with the promise, or rejects with the signal's reason as soon as it aborts; the promise's own work goes on. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Resolves after a while; rejects with the signal's reason. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  let cancel = () => {};
  const wait = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  try {
    await orAborted(wait, signal);
  } finally {
    cancel();
  }
}
