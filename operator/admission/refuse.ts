/** Stops a call that makes no sense before it changes anything: a wrong count would be a silent unfairness for ever. */
export function refuse(why: string): never {
  throw new Error(`admission tree: ${why}`);
}

/** The value, if it is an integer within the bounds. */
export function whole(what: string, value: number, min: number, max = Number.MAX_SAFE_INTEGER): number {
  if (!Number.isSafeInteger(value) || value < min || value > max)
    refuse(`${what} must be an integer from ${min} to ${max}, got ${value}`);
  return value;
}
