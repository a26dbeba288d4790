// Rows that are applied outside the store: intended before, settled by a commit, doubted after a late write.
import { describe, expect, test } from 'vitest';
import { itemPath } from '../../../runner/protocol/index.ts';
import { listed, packed, removed, replaced, token } from '../build.ts';
import { type Subject, verdicts } from './subject.ts';

export function outsideClaims(on: Subject): void {
  describe('rows outside the store', () => {
    const intent = (key: string, run: number, ...bytes: number[]) => ({
      path: itemPath('docs', key),
      token: token(run),
      item: { source: 'docs', key },
      rows: new Map([['far', packed(...bytes)]]),
    });

    test('what was intended is found again until a commit settles it', async () => {
      await on.commit(replaced('a', { rows: new Map([['far', packed(1)]]) }));
      await on.state.intend([intent('a', 2, 2)]);
      await on.reopen();
      await on.state.intend([intent('a', 3, 3)]);
      const [record] = await on.state.components(['docs/a']);
      expect(record!.rows).toEqual(new Map([['far', packed(1)]]));
      expect(record!.intended).toEqual(new Map([['far', [packed(2), packed(3)]]]));
      await on.commit(replaced('a', { token: token(3), base: token(1), rows: new Map([['far', packed(3)]]) }));
      expect((await on.state.components(['docs/a']))[0]!.intended).toEqual(new Map());
    });

    test('an apply that was interrupted is found by the next listing, whatever the version', async () => {
      await on.commit(replaced('a'));
      await on.state.intend([intent('a', 2, 2)]);
      expect(await verdicts(on.state, listed('a'))).toEqual(['stale']);
      await on.commit(replaced('a', { token: token(2), base: token(1) }));
      expect(await verdicts(on.state, listed('a'))).toEqual(['unchanged']);
    });

    test('a component that died before its first commit is known, so that its rows can be deleted', async () => {
      await on.state.intend([intent('a', 1, 1)]);
      expect((await on.state.components(['docs/a']))[0]!.intended).toEqual(new Map([['far', [packed(1)]]]));
      expect(await on.state.children('docs', '', 10)).toEqual(['docs/a']);
      expect((await on.state.scanKeys('docs', 0, 10)).map(({ key }) => key)).toEqual(['a']);
      expect(await verdicts(on.state, listed('a'))).toEqual(['changed']);
      expect(await on.commit(replaced('a', { token: token(2) }))).toEqual(['committed']);
    });

    test('an intent fences older runs, and is itself fenced by newer ones', async () => {
      await on.state.intend([intent('a', 5, 1)]);
      expect(await on.commit(replaced('a', { token: token(4) }))).toEqual(['fenced by token']);
      expect(await on.state.intend([intent('a', 4, 2), intent('b', 1, 1)])).toEqual([
        { kind: 'fenced', by: 'token' },
        { kind: 'committed' },
      ]);
    });

    test('doubt keeps the rows as intended and has the item written again by the next cycle', async () => {
      await on.commit(replaced('a', { token: token(9) }));
      await on.state.doubt([intent('a', 3, 7)]);
      expect(await verdicts(on.state, listed('a'))).toEqual(['stale']);
      expect((await on.state.components(['docs/a']))[0]!.intended).toEqual(new Map([['far', [packed(7)]]]));
      expect(await on.commit(replaced('a', { token: token(10), base: token(9) }))).toEqual(['committed']);
    });

    test('a removal settles intents', async () => {
      await on.state.intend([intent('a', 1, 1)]);
      await on.commit(removed('a', { token: token(2) }));
      expect(await on.state.components(['docs/a'])).toEqual([undefined]);
    });
  });
}
