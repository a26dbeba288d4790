// Groups of commits whose parts can be told apart: every item of generation N has content hash, rows and texts that say N.
import type { Commit, ComponentRecord } from '../../../runner/execute/index.ts';
import { row } from '../../targets/build.ts';

export const KEYS = Array.from({ length: 20 }, (_, index) => `file-${index}`);
/** Rows of an item in generation N: their number changes from one to the next. */
export const rowsIn = (number: number): number => 1 + (number % 3);

type Replace = Extract<Commit, { kind: 'replace' }>;

const idOf = (key: string, number: number, index: number): number => number * 1_000 + KEYS.indexOf(key) * 10 + index;

export function generation(
  number: number,
  epoch: number,
  records: readonly (ComponentRecord | undefined)[],
): Replace[] {
  return KEYS.map((key, at) => {
    const rows = Array.from({ length: rowsIn(number) }, (_, index) =>
      row(idOf(key, number, index), key, `text of generation ${number}`, { vector: undefined } as never),
    );
    const owner = `docs/${key}`;
    const base = records[at]?.token;
    return {
      kind: 'replace',
      path: owner,
      token: { epoch, run: number, attempt: 1 },
      ...(base === undefined ? {} : { base }),
      item: { source: 'docs', key, version: String(number) },
      fingerprint: 'spec',
      contentHash: String(number),
      rows: new Map([['vectors', Buffer.from(String(number))]]),
      changes: new Map([['vectors', { owner, upserts: rows, touches: [], deletes: [], deleteAll: true }]]),
    };
  });
}
