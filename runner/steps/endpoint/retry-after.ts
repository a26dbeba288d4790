// Retry-After in its two forms, and the milliseconds that some servers send beside it.

type Headers = { readonly [name: string]: string | string[] | undefined };

/** Milliseconds that the far side asks to wait; undefined where it says nothing that can be read. */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const precise = numberOf(headers['retry-after-ms']);
  if (precise !== undefined) return precise;
  const value = single(headers['retry-after']);
  if (value === undefined) return undefined;
  const seconds = numberOf(value);
  if (seconds !== undefined) return Math.ceil(seconds * 1000);
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

const single = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);

function numberOf(value: string | string[] | undefined): number | undefined {
  const text = single(value)?.trim();
  return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}
