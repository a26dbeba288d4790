// Hashes of the engine: SHA-256, cut where a shorter name is enough. A change of anything here changes every row id and fingerprint.
import { hash } from 'node:crypto';
import type { FieldValue } from '../sdk/index.ts';

/** 64 hex digits. */
export function contentHashOf(bytes: Uint8Array | string): string {
  return hash('sha256', bytes, 'hex');
}

/** 32 hex digits: enough that two of a billion names never meet. */
export function shortHash(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex').slice(0, 32);
}

/** JSON with the keys of objects in order, so that equal values give equal text. */
export function canonicalJson(value: FieldValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((entry: FieldValue) => canonicalJson(entry)).join(',')}]`;
  const record = value as { readonly [key: string]: FieldValue };
  const entries = Object.keys(record)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(record[key] ?? null)}`);
  return `{${entries.join(',')}}`;
}
