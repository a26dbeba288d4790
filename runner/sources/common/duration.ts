// Durations of the objects, in milliseconds. The schema has checked the form; this reads it.

const PART = /([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)/g;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of `1h30m`, `250ms`, `1.5s`. Throws a RangeError for anything else. */
export function durationMs(text: string): number {
  if (!/^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/.test(text))
    throw new RangeError(`${JSON.stringify(text)} is not a duration, such as 30s or 1h30m`);
  let ms = 0;
  for (const [, number = '0', unit = 'ms'] of text.matchAll(PART)) ms += Number(number) * (UNIT_MS[unit] ?? 0);
  return ms;
}
