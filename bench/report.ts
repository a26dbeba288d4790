// The form in which every benchmark gives its figures, so that they can be followed over time.

export interface Result {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The peer's or the plain one's value of the same run; null: there is none. */
  readonly baseline: number | null;
}

export interface Report {
  readonly bench: string;
  readonly results: readonly Result[];
}

export type Bench = () => Promise<readonly Result[]>;

/** Rounded to three significant digits: more is noise. */
export function result(name: string, value: number, unit: string, baseline?: number | null): Result {
  const rounded = (figure: number): number => Number(figure.toPrecision(figure >= 1_000 ? 4 : 3));
  return { name, value: rounded(value), unit, baseline: baseline == null ? null : rounded(baseline) };
}
