// Updates, and the sizes of the store.
import { describe, expect, test } from 'vitest';
import { memoEntry, nested, replaced, work } from '../build.ts';
import type { Subject } from './subject.ts';

export function historyClaims(on: Subject): void {
  describe('history', () => {
    const update = (name: string, over = {}) => ({
      name,
      kind: 'cycle' as const,
      source: 'docs',
      trigger: 'interval',
      startedAtMs: 1,
      result: 'Running' as const,
      counts: { unchanged: 0, added: 0, reprocessed: 0, deleted: 0, failed: 0, superseded: 0 },
      listed: false,
      ...over,
    });

    test('updates come back newest first, and saving one again replaces it', async () => {
      await on.state.saveUpdate(update('u1'));
      await on.state.saveUpdate(update('u2'));
      await on.state.saveUpdate(update('u1', { result: 'Succeeded', endedAtMs: 5 }));
      expect(await on.state.updates(10)).toEqual([update('u2'), update('u1', { result: 'Succeeded', endedAtMs: 5 })]);
    });

    test('the newest thousand are kept', async () => {
      for (let index = 0; index < 1005; index++) await on.state.saveUpdate(update(`u${index}`));
      const names = (await on.state.updates(5000)).map(({ name }) => name);
      expect([names.length, names[0], names.at(-1)]).toEqual([1000, 'u1004', 'u5']);
    });

    test('sizes count what there is', async () => {
      await on.commit(
        replaced('a', { memo: { put: [memoEntry(1)], uses: [], drop: [], retire: [] } }),
        nested('a', 'x'),
      );
      await on.state.enter([work('b')]);
      const sizes = await on.state.sizes();
      expect(sizes).toMatchObject({ items: 1, components: 2, memoEntries: 1, work: 1 });
      expect(sizes.bytes).toBeGreaterThan(0);
    });
  });
}
