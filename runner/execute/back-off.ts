// How long something waits that is begun again whenever it fails.
const BASE_MS = 1_000;
const MAX_MS = 60_000;

/** Full jitter under a bound that doubles with each failure in a row. `random` is in [0, 1). */
export function backOffMs(failures: number, random: () => number): number {
  return Math.round(random() * Math.min(MAX_MS, BASE_MS * 2 ** Math.min(failures, 10)));
}
