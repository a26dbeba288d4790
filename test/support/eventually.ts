// Waits for something that another process does, by asking again; fails with what was seen last.

const WITHIN_MS = Number(process.env.FAIRLEAD_TEST_WITHIN_MS ?? 60_000);
const AGAIN_MS = 50;

/** The first answer of `look` that `holds` accepts. Throws after a minute with the last answer: a bound for a test that hangs, no claim. */
export async function eventually<T>(
  look: () => Promise<T> | T,
  holds: (seen: T) => boolean,
  what: string,
  withinMs = WITHIN_MS,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (performance.now() > deadline)
      throw new Error(`never: ${what}; last seen: ${JSON.stringify(seen)?.slice(0, 3000)}`);
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}
