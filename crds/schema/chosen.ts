// An object of which exactly one member is set, read as a tagged value: what a discriminated union would have been.

/** `{ kind: 'git', settings: … }` for each member of `T` among `K`. */
export type Chosen<T, K extends keyof T> = {
  [P in K]-?: { readonly kind: P; readonly settings: NonNullable<T[P]> };
}[K];

/** Reads the one member that is set. The object was parsed, so there is one. */
export function chosen<T extends object, const K extends keyof T>(object: T, members: readonly K[]): Chosen<T, K> {
  const kind = members.find((member) => object[member] !== undefined);
  if (kind === undefined) throw new Error(`none of ${members.join(', ')} is set: the object was not parsed`);
  return { kind, settings: object[kind] } as Chosen<T, K>;
}
