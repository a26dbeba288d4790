// How many items there are, and how they are.
import { describe, expect, test } from 'vitest';
import { itemPath } from '../../../runner/protocol/index.ts';
import { failed, nested, removed, replaced, token } from '../build.ts';
import type { Subject } from './subject.ts';

export function censusClaims(on: Subject): void {
  describe('a census', () => {
    test('counts the items of each source, and those that failed or are quarantined, as they are now', async () => {
      expect((await on.state.census()).sources).toEqual([]);
      const other = { path: itemPath('a/b', 'x'), item: { source: 'a/b', key: 'x', version: '1' } };
      await on.commit(replaced('a'), replaced('b'), nested('a', 'part'), failed('c'), replaced('x', other));
      await on.commit(failed('d', { status: 'quarantined', losses: 3 }));
      const before = await on.state.census();
      expect(before.sources).toEqual([
        { source: 'a/b', total: 1, failed: 0, quarantined: 0 },
        { source: 'docs', total: 4, failed: 1, quarantined: 1 },
      ]);
      await on.state.release('docs');
      await on.commit(removed('a', { base: token(1) }), replaced('c', { token: token(2) }));
      const after = await on.state.census();
      expect(after.sources[1]).toEqual({ source: 'docs', total: 3, failed: 1, quarantined: 0 });
      expect(after.atMs).toBeGreaterThan(before.atMs);
    });
  });
}
