// Durations in Go's form without sign (`90s`, `1h30m`, `1.5h`, `250ms`), as Kubernetes users write them.

/** Form of a duration. Shared by the schema and the CRDs. */
export const DURATION_PATTERN = /^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/;

const PART = /([0-9]+)(?:\.([0-9]+))?(ms|s|m|h)/g;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** A duration as it stands in an object. */
export type Duration = string;

/** Thrown for text that is no duration; the message says what was expected. */
export class DurationError extends Error {
  override readonly name = 'DurationError';
}

/** Milliseconds of a duration; a part below a millisecond is dropped. Throws DurationError. */
export function durationMs(duration: Duration): number {
  if (!DURATION_PATTERN.test(duration))
    throw new DurationError(`${JSON.stringify(duration)} is not a duration, such as 30s, 5m or 1h30m`);
  let micros = 0;
  for (const [, whole = '', fraction = '', unit = ''] of duration.matchAll(PART)) {
    const unitMicros = (UNIT_MS[unit] ?? 0) * 1_000;
    micros += Number(whole) * unitMicros + Math.floor((Number(fraction) * unitMicros) / 10 ** fraction.length);
  }
  return Math.floor(micros / 1_000);
}

/** Prints milliseconds in Go's form: `1h30m`, `90ms`, `1m0.5s` becomes `1m500ms`. */
export function formatDuration(ms: number): Duration {
  if (ms <= 0) return '0s';
  let rest = Math.round(ms);
  let text = '';
  for (const unit of ['h', 'm', 's', 'ms']) {
    const count = Math.floor(rest / (UNIT_MS[unit] ?? 1));
    rest -= count * (UNIT_MS[unit] ?? 1);
    if (count > 0) text += `${count}${unit}`;
  }
  return text;
}
