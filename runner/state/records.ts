// What a component's record holds, and what becomes of it with each kind of commit: one rule for every store.
import type { Commit, ItemRecord } from '../execute/index.ts';
import type { FencingToken } from '../protocol/index.ts';
import { segmentKey } from './names.ts';

export const STATUSES = ['ok', 'failed', 'quarantined'] as const;
export type Status = (typeof STATUSES)[number];

/** A component's row. An item and its component are one. */
export interface Row {
  readonly id: number;
  /** Last segment of the path. */
  readonly key: string;
  readonly isItem: boolean;
  readonly status: Status;
  readonly version: string;
  readonly fingerprint: string;
  readonly hash: string;
  /** Of the last commit of any kind. */
  readonly token: FencingToken;
  /** 0: it never succeeded. */
  readonly committedAtMs: number;
  readonly seenAtMs: number;
  readonly failures: number;
  readonly losses: number;
  readonly memoised: boolean;
  readonly error: string | null;
}

export const hasSucceeded = (row: Pick<Row, 'committedAtMs'>): boolean => row.committedAtMs > 0;

/** Whether nothing was ever committed to it: it was made by an intent, or by doubt. */
export const isBlank = (row: Pick<Row, 'token'> | undefined): boolean => row === undefined || row.token.epoch === 0;

export function blankRow(id: number, key: string, isItem: boolean): Row {
  return {
    id,
    key,
    isItem,
    status: 'ok',
    version: '',
    fingerprint: '',
    hash: '',
    token: { epoch: 0, run: 0, attempt: 0 },
    committedAtMs: 0,
    seenAtMs: 0,
    failures: 0,
    losses: 0,
    memoised: false,
    error: null,
  };
}

/** The row after a commit that wrote (`remove` leaves none); `memoised` is decided by the memo. */
export function rowAfter<R extends Row>(commit: Exclude<Commit, { kind: 'remove' }>, row: R, nowMs: number): R {
  const all = {
    ...row,
    isItem: row.isItem || commit.item !== undefined,
    version: commit.item?.version ?? row.version,
    token: commit.token,
    seenAtMs: nowMs,
  };
  if (commit.kind === 'fail')
    return { ...all, status: commit.status, error: commit.error, failures: row.failures + 1, losses: commit.losses };
  const ok = { ...all, status: 'ok' as const, error: null, failures: 0, losses: 0, committedAtMs: nowMs };
  return commit.kind === 'touch' ? ok : { ...ok, fingerprint: commit.fingerprint, hash: commit.contentHash };
}

/** What `rowAfter` makes of a blank row with a first `replace`, in one step: a first index makes one for each item. */
export function firstRow<Place extends Pick<Row, 'id' | 'key'>>(
  commit: Extract<Commit, { kind: 'replace' }>,
  place: Place,
  nowMs: number,
): Place & Row {
  const { item, memo } = commit;
  return {
    ...place,
    isItem: item !== undefined,
    status: 'ok',
    version: item === undefined ? '' : item.version,
    fingerprint: commit.fingerprint,
    hash: commit.contentHash,
    token: commit.token,
    committedAtMs: nowMs,
    seenAtMs: nowMs,
    failures: 0,
    losses: 0,
    memoised: memo !== undefined && memo.put.length + memo.uses.length > 0,
    error: null,
  };
}

export function itemOf(row: Row, source: string): ItemRecord {
  return {
    id: row.id,
    source,
    key: segmentKey(row.key),
    version: row.version,
    contentHash: row.hash,
    fingerprint: row.fingerprint,
    status: row.status,
    ...(row.error === null ? {} : { error: row.error }),
    failures: row.failures,
    losses: row.losses,
    committedAtMs: row.committedAtMs,
    seenAtMs: row.seenAtMs,
  };
}

/** How long tokens of removals are kept: longer than every lease, so that a presumed dead run cannot bring a component back. */
export const REMOVAL_KEPT_MS = 3_600_000;

/** Newest updates that are kept. */
export const UPDATES_MAX = 1000;
