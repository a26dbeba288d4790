/** Namespace of objects that name none. */
export const DEFAULT_NAMESPACE = 'default';

/** What a Pipeline is called in what is printed: its name; with its namespace where that is not the default one. */
export function labelOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return namespace === DEFAULT_NAMESPACE ? name : `${namespace}-${name}`;
}
