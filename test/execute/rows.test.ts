// Ids of rows, the packed list of them, and the difference between what a component had and what it wants (R1 to R4).
import { describe, expect, test } from 'vitest';
import { packRows, unpackRows } from '../../runner/execute/index.ts';
import { planRows, rowsOf } from '../../runner/execute/rows.ts';
import type { Element } from '../../runner/sdk/index.ts';
import { Random } from './random.ts';

const owner = { path: 'docs/a', source: 'docs', key: 'a' };
const place = (startLine: number) => ({
  startByte: startLine * 10,
  endByte: startLine * 10 + 5,
  startLine,
  endLine: startLine,
});
const vector = (key: string) => ({ vector: new Float32Array([1]), vectorKey: key.repeat(32) });
const ids = (elements: readonly Element[], path = owner.path) =>
  rowsOf({ ...owner, path }, elements).map(({ row }) => row.id);
const owned = (elements: readonly Element[]) => rowsOf(owner, elements).map((row) => row.owned);
const changeOf = (before: readonly Element[], after: readonly Element[], rewrite = false) => {
  const { change } = planRows(owner, after, { owned: owned(before) }, rewrite);
  return {
    ...change,
    upserts: change.upserts.map(({ element }) => element.text),
    touches: change.touches.map(({ element }) => element.text),
  };
};

describe('ids', () => {
  test('R1: a piece that moved keeps its id, equal pieces are told apart by their occurrence, other components have other ids', () => {
    const first = ids([{ text: 'x', place: place(1) }, { text: 'y' }, { text: 'x', place: place(9) }]);
    expect(ids([{ text: 'y' }, { text: 'x', place: place(7) }, { text: 'x', place: place(8) }])).toEqual([
      first[1],
      first[0],
      first[2],
    ]);
    expect(new Set(first).size).toBe(3);
    expect(ids([{ text: 'x' }], 'docs/b')[0]).not.toBe(first[0]);
    expect(first.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true);
  });

  test('R1: elements without text are named by their bytes or fields, whatever the order of the fields', () => {
    const [a, b, c] = ids([
      { fields: { x: 1, y: [1, { p: 1, q: 2 }] } },
      { bytes: new Uint8Array([1]) },
      { fields: { x: 2 } },
    ]);
    expect(ids([{ fields: { y: [1, { q: 2, p: 1 }], x: 1 } }])).toEqual([a]);
    expect(new Set([a, b, c]).size).toBe(3);
  });
});

describe('the difference between two lists', () => {
  test('R2: equal rows are left alone, moved ones are touched, others are written or deleted', () => {
    const before = [{ text: 'same' }, { text: 'moved', place: place(1) }, { text: 'gone' }];
    const after = [{ text: 'same' }, { text: 'moved', place: place(2) }, { text: 'new' }];
    expect(changeOf(before, after)).toMatchObject({
      upserts: ['new'],
      touches: ['moved'],
      deletes: ids([{ text: 'gone' }]),
    });
  });

  test('R2: a row whose vector is another one is written again, not touched', () => {
    const before = [{ text: 'x', ...vector('a') }];
    expect(changeOf(before, [{ text: 'x', ...vector('b') }])).toMatchObject({ upserts: ['x'], touches: [] });
    expect(changeOf(before, [{ text: 'x' }])).toMatchObject({ upserts: ['x'], touches: [] });
  });

  test('R2: vectors that no row needs any more are retired', () => {
    const before = [
      { text: 'x', ...vector('a') },
      { text: 'y', ...vector('b') },
    ];
    expect(planRows(owner, [{ text: 'z', ...vector('a') }], { owned: owned(before) }, false).retired).toEqual([
      'b'.repeat(32),
    ]);
  });

  test('R3: rows in doubt are all written again, and none of those that may be there is forgotten', () => {
    const former = { owned: owned([{ text: 'x' }, { text: 'old' }]), doubtful: owned([{ text: 'half' }]) };
    const { change } = planRows(owner, [{ text: 'x' }], former, false);
    expect(change.upserts.length).toBe(1);
    expect([...change.deletes].sort()).toEqual(ids([{ text: 'old' }, { text: 'half' }]).sort());
  });

  test('a full reprocess writes each row once and clears the owner first', () => {
    expect(changeOf([{ text: 'x' }], [{ text: 'x' }], true)).toMatchObject({ upserts: ['x'], deleteAll: true });
  });

  test('a vector key that is no hash is refused before a row is written', () => {
    expect(() => owned([{ text: 'x', vector: new Float32Array([1]), vectorKey: 'mine' }])).toThrow(/32 hex digits/);
  });
});

describe('the packed list', () => {
  test('any list comes back as it was; under another identity of the target it names no row (R4)', () => {
    const random = new Random(7);
    for (let round = 0; round < 50; round += 1) {
      const rows = owned(
        Array.from({ length: random.below(20) }, (_, index) => ({
          text: `${round} ${index}`,
          place: place(random.below(99)),
        })),
      );
      const packed = packRows('table 1', rows);
      expect(packed.byteLength).toBe(8 + 40 * rows.length);
      expect(unpackRows(packed, 'table 1')).toEqual(rows);
      expect(unpackRows(packed)).toEqual(rows);
      expect(unpackRows(packed, 'table 2')).toEqual([]);
    }
  });
});
