// Says on standard error where a benchmark of minutes is.

/** What a job is called in a line: places, which say nothing to people, left out. */
export const jobText = (program: string, args: readonly string[]): string =>
  [program, ...args.filter((arg) => !arg.includes('/'))].join(' ');

/** Tells that the job began, and how long it took. */
export async function told<T>(job: string, running: Promise<T>): Promise<T> {
  const beganMs = performance.now();
  process.stderr.write(`${job}: begins\n`);
  try {
    return await running;
  } finally {
    process.stderr.write(`${job}: ${((performance.now() - beganMs) / 1_000).toFixed(1)} s\n`);
  }
}
