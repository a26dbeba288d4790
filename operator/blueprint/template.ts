// Laying a user's pod template over the pod that the operator makes.
//   B1. Lists whose items have a name (containers, volumes, variables, ports) are joined by it; the user's item is laid over ours.
//   B2. Other lists (tolerations, arguments of a sidecar) are the user's after ours, or the user's alone where order is meaning.
//   B3. Labels that selectors use, the owner and the link to the operator are ours whatever the template says.

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Key of the items of a list, by the list's field name. */
const NAMED_LISTS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  volumes: 'name',
  env: 'name',
  volumeMounts: 'mountPath',
  imagePullSecrets: 'name',
};
/** Lists that are added to. */
const ADDED_LISTS = new Set(['tolerations', 'envFrom', 'topologySpreadConstraints']);

/** `base` with `over` laid over it; neither is changed. `field` is the name of the field that the two stand in. */
export function overlay(base: unknown, over: unknown, field = ''): unknown {
  if (over === undefined || over === null) return base;
  if (Array.isArray(over)) return overlayList(Array.isArray(base) ? base : [], over, field);
  if (!isObject(over) || !isObject(base)) return over;
  const result: Json = { ...base };
  for (const [key, value] of Object.entries(over)) result[key] = overlay(base[key], value, key);
  return result;
}

function overlayList(base: readonly unknown[], over: readonly unknown[], field: string): unknown[] {
  if (ADDED_LISTS.has(field)) return [...base, ...over];
  const key = NAMED_LISTS[field];
  if (key === undefined) return [...over];
  const byName = new Map<unknown, unknown>(base.map((item) => [isObject(item) ? item[key] : item, item]));
  for (const item of over) {
    const name = isObject(item) ? item[key] : item;
    byName.set(name, overlay(byName.get(name), item, ''));
  }
  return [...byName.values()];
}
