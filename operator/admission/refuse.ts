/** Stops a call that makes no sense before it changes anything: a wrong count would be a silent unfairness for ever. */
export function refuse(why: string): never {
  throw new Error(`admission tree: ${why}`);
}
