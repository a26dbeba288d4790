// Results that are kept: for a component, or by age.
import { describe, expect, test } from 'vitest';
import { hexId, memoEntry, removed, replaced, textOf, token } from '../build.ts';
import type { Subject } from './subject.ts';

const HOUR_MS = 3_600_000;

export function memoClaims(on: Subject): void {
  describe('memo', () => {
    const found = async (...numbers: number[]) => (await on.state.memo.get(numbers.map(hexId))).map(textOf);
    const noMemo = { put: [], uses: [], drop: [], retire: [] };

    test('what a commit puts is found, and is dropped with the commit whose rows hold it', async () => {
      await on.commit(replaced('a', { memo: { ...noMemo, put: [memoEntry(1), memoEntry(2)] } }));
      expect(await found(1, 2, 3)).toEqual(['value 1', 'value 2', undefined]);
      expect((await on.state.components(['docs/a']))[0]!.memoised).toBe(true);
      await on.commit(
        replaced('a', { token: token(2), base: token(1), memo: { ...noMemo, uses: [hexId(1)], drop: [hexId(2)] } }),
      );
      expect(await found(1, 2)).toEqual(['value 1', undefined]);
    });

    test('entries in use never go by age; those that a commit names no more, and those of removed components, do', async () => {
      await on.commit(replaced('a', { memo: { ...noMemo, put: [memoEntry(1), memoEntry(2)] } }));
      await on.commit(replaced('b', { memo: { ...noMemo, put: [memoEntry(3)] } }));
      await on.commit(replaced('a', { token: token(2), base: token(1), memo: { ...noMemo, uses: [hexId(1)] } }));
      await on.commit(removed('b', { token: token(2), base: token(1) }));
      expect(await on.state.memo.collect(60_000)).toBe(0);
      await on.place.passMs(60_001);
      expect(await on.state.memo.collect(60_000)).toBe(2);
      expect(await found(1, 2, 3)).toEqual(['value 1', undefined, undefined]);
    });

    test('results of attempts that did not commit are kept by age, and a commit can take them into use', async () => {
      await on.state.memo.put([memoEntry(1), memoEntry(2), memoEntry(1, 'another')]);
      expect(await found(1)).toEqual(['value 1']);
      await on.commit(replaced('a', { memo: { ...noMemo, uses: [hexId(1)], retire: [memoEntry(4)] } }));
      await on.place.passMs(10_001);
      expect(await on.state.memo.collect(10_000)).toBe(2);
      expect(await found(1, 2, 4)).toEqual(['value 1', undefined, undefined]);
    });

    test('a result that is kept again begins its age anew, and one that a component uses stays in use', async () => {
      await on.commit(replaced('a', { memo: { ...noMemo, put: [memoEntry(1)] } }));
      await on.state.memo.put([memoEntry(2), memoEntry(3)]);
      await on.place.passMs(2 * HOUR_MS);
      await on.state.memo.put([memoEntry(1), memoEntry(2, 'another')]);
      await on.place.passMs(2 * HOUR_MS);
      expect(await on.state.memo.collect(3 * HOUR_MS)).toBe(1);
      expect(await found(1, 2, 3)).toEqual(['value 1', 'value 2', undefined]);
    });

    test('a commit that says nothing of the memo leaves it', async () => {
      await on.commit(replaced('a', { memo: { ...noMemo, put: [memoEntry(1)] } }));
      await on.commit(replaced('a', { token: token(2), base: token(1) }));
      expect((await on.state.components(['docs/a']))[0]!.memoised).toBe(true);
      expect(await found(1)).toEqual(['value 1']);
    });
  });
}
