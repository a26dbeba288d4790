// Numbers and times as people read them, and columns.

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** `3m12s`, `450ms`: the two largest units. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  const at = UNITS.findIndex(([, size]) => ms >= size);
  const [unit, size] = UNITS[at]!;
  const whole = Math.floor(ms / size);
  const next = UNITS[at + 1];
  const rest = next === undefined ? 0 : Math.floor((ms - whole * size) / next[1]);
  return rest === 0 ? `${whole}${unit}` : `${whole}${unit}${rest}${next![0]}`;
}

/** Age of a moment; `-`: it never was. */
export const age = (atMs: number | undefined, nowMs: number): string =>
  atMs === undefined ? '-' : duration(Math.max(0, nowMs - atMs));

/** Columns as kubectl prints them: headers in capitals, as wide as their widest cell, three spaces between. */
export function columns(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headers, ...rows];
  const widths = headers.map((_, at) => Math.max(...all.map((row) => [...(row[at] ?? '')].length)));
  return all
    .map((row) =>
      row
        .map((cell, at) => cell + ' '.repeat(widths[at]! - [...cell].length))
        .join('   ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}
