/** Stops at once when something that must hold does not: a wrong count is a silent unfairness for ever. Stays on in production. */
export function invariant(claim: boolean, message: string): asserts claim {
  if (!claim) throw new Error(`admission tree: ${message}`);
}
