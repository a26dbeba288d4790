// Quantities of bytes, as they stand in objects. The schema has checked the form; this reads it.

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** Bytes of `1Mi`, `1.5G`, `4096`. Throws a RangeError for anything else. */
export function quantityBytes(quantity: string | number): number {
  const match = /^([0-9]+(?:\.[0-9]+)?)(k|M|G|Ki|Mi|Gi)?$/.exec(String(quantity));
  if (match === null) throw new RangeError(`${JSON.stringify(quantity)} is no number of bytes, such as 64Ki or 1Mi`);
  return Math.floor(Number(match[1]) * (UNITS[match[2] ?? ''] ?? 1));
}
