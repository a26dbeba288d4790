// What a store says of a listing that is compared with it.
import { describe, expect, test } from 'vitest';
import { failed, listed, removed, replaced, token, work } from '../build.ts';
import { type Subject, verdicts } from './subject.ts';

export function comparingClaims(on: Subject): void {
  describe('comparing a listing', () => {
    test('an item that was never committed is new and has no number', async () => {
      expect(await on.state.compare('docs', listed('a'), 'spec-1')).toEqual([{ id: 0, verdict: 'new' }]);
    });

    test('an item of the same version and fingerprint is unchanged, another version changed, another fingerprint stale', async () => {
      await on.commit(replaced('a'), replaced('b', { fingerprint: 'spec-0' }));
      expect(await verdicts(on.state, [...listed('a', 'b', 'c'), { key: 'a', version: 'a@2' }])).toEqual([
        'unchanged',
        'stale',
        'new',
        'changed',
      ]);
    });

    test('equal keys of two sources are two items', async () => {
      await on.commit(replaced('a'));
      expect(await on.state.compare('tickets', listed('a'), 'spec-1')).toEqual([{ id: 0, verdict: 'new' }]);
    });

    test('a failed item is tried again at the same version, a quarantined one is left alone until it changes', async () => {
      await on.commit(failed('a'), failed('b', { status: 'quarantined', losses: 3 }));
      expect(await verdicts(on.state, listed('a', 'b'))).toEqual(['failed', 'quarantined']);
      expect(await verdicts(on.state, [{ key: 'b', version: 'b@2' }])).toEqual(['changed']);
    });

    test('work that is wanted at another version, or a delete, contradicts the listing; the same version does not', async () => {
      await on.commit(replaced('a'), replaced('b'), replaced('c'), replaced('d'));
      const soon = (await on.state.nowMs()) + 10;
      await on.state.enter([
        work('a', { version: 'a@2' }),
        work('b', { action: 'delete', version: '', seenAtMs: soon }),
        work('c'),
        work('d', { version: '' }),
      ]);
      expect(await verdicts(on.state, listed('a', 'b', 'c', 'd'))).toEqual([
        'changed',
        'changed',
        'unchanged',
        'unchanged',
      ]);
    });

    test('a batch of any keys, in any order, is answered in its own order', async () => {
      const keys = ['z/9', 'a', 'm%', 'Ω', '𝄞', '\uffee', 'b/c.d', 'B', 'with space', "quo'te"];
      await on.commit(...keys.map((key) => replaced(key)));
      const shuffled = ['𝄞', 'gone', 'Ω', '\uffee', 'a', 'with space', 'z/9', 'B', 'b/c.d', "quo'te", 'm%'];
      expect(await verdicts(on.state, listed(...shuffled))).toEqual(
        shuffled.map((key) => (key === 'gone' ? 'new' : 'unchanged')),
      );
    });

    test('a batch that is scattered over many items is answered as one that lies together', async () => {
      const keys = Array.from({ length: 500 }, (_, index) => `file-${String(index).padStart(4, '0')}`);
      await on.commit(...keys.map((key) => replaced(key)));
      expect(await verdicts(on.state, listed(keys[0]!, keys[499]!, keys[250]!, 'file-9999'))).toEqual([
        'unchanged',
        'unchanged',
        'unchanged',
        'new',
      ]);
    });

    test('numbers of items are never given twice', async () => {
      await on.commit(replaced('a'), replaced('b'));
      const before = await on.state.extent('docs');
      expect(before.items).toBe(2);
      await on.commit(removed('b', { base: token(1) }));
      await on.reopen();
      await on.commit(replaced('c'));
      const [comparison] = await on.state.compare('docs', listed('c'), 'spec-1');
      expect(comparison!.id).toBeGreaterThan(before.lastId);
      expect((await on.state.extent('docs')).lastId).toBeGreaterThanOrEqual(comparison!.id);
    });
  });
}
