// Bulk statements cannot touch a row twice. A list in which a key comes again is cut before the repetition, so that the parts, one after
// another, mean what the list meant.

/** Runs of `values` without a repeated key, in order. */
export function distinctRuns<T>(values: readonly T[], keyOf: (value: T) => string): T[][] {
  const runs: T[][] = [];
  let seen = new Set<string>();
  let run: T[] = [];
  for (const value of values) {
    const key = keyOf(value);
    if (seen.has(key)) {
      runs.push(run);
      run = [];
      seen = new Set();
    }
    seen.add(key);
    run.push(value);
  }
  if (run.length > 0) runs.push(run);
  return runs;
}
