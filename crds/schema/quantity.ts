// Quantities as Kubernetes users write them (`500m`, `100Mi`, `1.5Gi`, `2e3`), read exactly: no floating point anywhere.
//   Q1. A quantity is a count of billionths (BigInt), so that `0.1` and `100m` are equal and sums never drift.
//   Q2. Anything finer than a billionth is refused, not rounded.
//   Q3. `n u m k M G T P E` are powers of 1000, `Ki Mi Gi Ti Pi Ei` of 1024, `e` and `E` with digits are decimal exponents.
// Not here: signs. No field of Fairlead takes a negative quantity.

const NANO = 1_000_000_000n;
const MILLI_IN_NANO = 1_000_000n;

/** Form of a quantity: a plain number, or one with a suffix or an exponent. Shared by the schema and the CRDs. */
export const QUANTITY_PATTERN = /^[0-9]+(\.[0-9]+)?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$/;
const PARTS = /^([0-9]+)(?:\.([0-9]+))?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$/;

const SUFFIXES: Readonly<Record<string, bigint>> = {
  n: 1n,
  u: 1_000n,
  m: MILLI_IN_NANO,
  '': NANO,
  k: NANO * 1_000n,
  M: NANO * 1_000n ** 2n,
  G: NANO * 1_000n ** 3n,
  T: NANO * 1_000n ** 4n,
  P: NANO * 1_000n ** 5n,
  E: NANO * 1_000n ** 6n,
  Ki: NANO * 1_024n,
  Mi: NANO * 1_024n ** 2n,
  Gi: NANO * 1_024n ** 3n,
  Ti: NANO * 1_024n ** 4n,
  Pi: NANO * 1_024n ** 5n,
  Ei: NANO * 1_024n ** 6n,
};

/** A quantity as it stands in an object: an integer, or a string. */
export type Quantity = number | string;

/** Thrown for text that is no quantity; the message says what was expected. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

/** Billionths of a quantity, exactly. Throws QuantityError. */
export function quantityNano(quantity: Quantity): bigint {
  const text = String(quantity);
  const parts = PARTS.exec(text);
  if (!parts) throw new QuantityError(`${JSON.stringify(text)} is not a quantity, such as 500m, 2, 100Mi or 1.5Gi`);
  const [, whole = '', fraction = '', suffix = ''] = parts;
  const digits = BigInt(whole + fraction);
  const nano = isExponent(suffix) ? digits * NANO * 10n ** exponentOf(suffix) : digits * (SUFFIXES[suffix] ?? 0n);
  const divisor = 10n ** BigInt(fraction.length) * (isExponent(suffix) ? 10n ** negativeExponentOf(suffix) : 1n);
  if (nano % divisor !== 0n) throw new QuantityError(`${JSON.stringify(text)} is finer than a billionth`);
  return nano / divisor;
}

const isExponent = (suffix: string): boolean => /^[eE][+-]?[0-9]/.test(suffix);
const exponentOf = (suffix: string): bigint => BigInt(Math.max(0, Number(suffix.slice(1))));
const negativeExponentOf = (suffix: string): bigint => BigInt(Math.max(0, -Number(suffix.slice(1))));

/** Thousandths, for shares of a card. Throws QuantityError if the quantity is finer than that (`0.0005`). */
export function quantityMilli(quantity: Quantity): number {
  const nano = quantityNano(quantity);
  if (nano % MILLI_IN_NANO !== 0n)
    throw new QuantityError(`${JSON.stringify(String(quantity))} is finer than a thousandth`);
  return Number(nano / MILLI_IN_NANO);
}

/** Bytes (or any whole count), rounded up as Kubernetes does (`1.5` is 2). Throws QuantityError. */
export function quantityBytes(quantity: Quantity): number {
  const nano = quantityNano(quantity);
  return Number((nano + NANO - 1n) / NANO);
}

/** Prints thousandths: `500m`, `2`. */
export function formatMilli(milli: number): string {
  return milli % 1000 === 0 ? String(milli / 1000) : `${milli}m`;
}

const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;

/** Prints bytes exactly, with the largest suffix that divides them: `100Mi`, `1536`, `3Ki`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let power = 0;
  while (value !== 0 && value % 1024 === 0 && power < BINARY.length - 1) {
    value /= 1024;
    power += 1;
  }
  return `${value}${BINARY[power]}`;
}
