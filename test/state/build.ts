// Builders for the tests of states: what does not matter to a claim has a default here.
import type { Commit, MemoEntry, NewWork, RowChange } from '../../runner/execute/index.ts';
import { childPath, type FencingToken, itemPath } from '../../runner/protocol/index.ts';

export const token = (run: number, attempt = 1, epoch = 1): FencingToken => ({ epoch, run, attempt });

export const listed = (...keys: string[]) => keys.map((key) => ({ key, version: `${key}@1` }));

export const packed = (...bytes: number[]): Uint8Array => new Uint8Array(40).fill(0).map((_, at) => bytes[at] ?? 0);

export function work(key: string, over: Partial<NewWork> = {}): NewWork {
  return { source: 'docs', key, action: 'process', version: `${key}@1`, update: 'u1', seenAtMs: 1000, ...over };
}

type Replace = Extract<Commit, { kind: 'replace' }>;

export function replaced(key: string, over: Partial<Replace> = {}): Replace {
  return {
    kind: 'replace',
    path: itemPath('docs', key),
    token: token(1),
    item: { source: 'docs', key, version: `${key}@1` },
    fingerprint: 'spec-1',
    contentHash: `hash of ${key}`,
    rows: new Map(),
    changes: new Map(),
    ...over,
  };
}

/** A nested component's commit. */
export function nested(parentKey: string, name: string, over: Partial<Replace> = {}): Replace {
  const { item, ...rest } = replaced(parentKey, over);
  return { ...rest, path: childPath(itemPath('docs', parentKey), name) };
}

export function removed(key: string, over: Partial<Extract<Commit, { kind: 'remove' }>> = {}): Commit {
  return { kind: 'remove', path: itemPath('docs', key), token: token(1), changes: new Map(), ...over };
}

export function failed(key: string, over: Partial<Extract<Commit, { kind: 'fail' }>> = {}): Commit {
  const item = { source: 'docs', key, version: `${key}@1` };
  return {
    kind: 'fail',
    path: itemPath('docs', key),
    token: token(1),
    item,
    status: 'failed',
    error: 'it broke',
    losses: 0,
    ...over,
  };
}

/** 32 hex digits. */
export const hexId = (number: number): string => number.toString(16).padStart(32, '0');

export const memoEntry = (number: number, text = `value ${number}`): MemoEntry => ({
  key: hexId(number),
  value: new TextEncoder().encode(text),
});

export const textOf = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);

export const noChange = (owner: string): RowChange => ({ owner, upserts: [], touches: [], deletes: [] });
