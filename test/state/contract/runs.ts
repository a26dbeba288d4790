// What a run finds when it begins, and what is scanned.
import { describe, expect, test } from 'vitest';
import type { StateStore } from '../../../runner/execute/index.ts';
import { itemPath } from '../../../runner/protocol/index.ts';
import { failed, nested, packed, replaced, token, work } from '../build.ts';
import type { Subject } from './subject.ts';

export function runClaims(on: Subject): void {
  describe('what a run finds', () => {
    test('a run finds its work, its item and its component in one call; an unknown one finds nothing', async () => {
      await on.commit(replaced('a', { rows: new Map([['vectors', packed(1)]]), value: { n: 1 } }));
      await on.state.enter([work('a', { version: 'a@2', sizeBytes: 7, reprocess: true })]);
      const refs = ['a', 'gone'].map((key) => ({ path: itemPath('docs', key), item: { source: 'docs', key } }));
      const [known, unknown] = await on.state.begin(refs);
      expect(unknown).toEqual({});
      expect(known!.work).toEqual({
        ...work('a', { version: 'a@2' }),
        sizeBytes: 7,
        reprocess: true,
        seq: 1,
        losses: 0,
      });
      expect(known!.item).toMatchObject({ source: 'docs', key: 'a', version: 'a@1', status: 'ok', failures: 0 });
      expect(known!.component).toEqual({
        path: 'docs/a',
        fingerprint: 'spec-1',
        contentHash: 'hash of a',
        token: token(1),
        rows: new Map([['vectors', packed(1)]]),
        intended: new Map(),
        memoised: false,
        value: { n: 1 },
      });
    });

    test('a key with slashes and percent signs comes back as it was', async () => {
      await on.commit(replaced('src/50%/a b.ts'));
      const items = await on.state.scanItems({ source: 'docs' }, 0, 10);
      expect(items.map(({ key }) => key)).toEqual(['src/50%/a b.ts']);
      expect((await on.state.scanKeys('docs', 0, 10)).map(({ key }) => key)).toEqual(['src/50%/a b.ts']);
      expect((await on.state.item('docs', 'src/50%/a b.ts'))?.version).toBe('src/50%/a b.ts@1');
    });

    test('items are scanned in pages by number, by source, status and fingerprint', async () => {
      await on.commit(
        replaced('a'),
        failed('b'),
        replaced('c', { fingerprint: 'spec-0' }),
        nested('a', 'part'),
        replaced('x', { path: itemPath('tickets', 'x'), item: { source: 'tickets', key: 'x', version: '1' } }),
      );
      const keys = async (filter: Parameters<StateStore['scanItems']>[0], after = 0, limit = 10) =>
        (await on.state.scanItems(filter, after, limit)).map(({ source, key }) => `${source}/${key}`);
      expect(await keys({})).toEqual(['docs/a', 'docs/b', 'docs/c', 'tickets/x']);
      expect(await keys({ source: 'docs' }, 0, 2)).toEqual(['docs/a', 'docs/b']);
      const [, second] = await on.state.scanItems({ source: 'docs' }, 0, 2);
      expect(await keys({ source: 'docs' }, second!.id)).toEqual(['docs/c']);
      expect(await keys({ status: 'failed' })).toEqual(['docs/b']);
      expect(await keys({ otherThan: 'spec-1' })).toEqual(['docs/b', 'docs/c']);
      expect(await keys({ source: 'none' })).toEqual([]);
    });

    test('children of a path are those directly below it, in pages by path', async () => {
      await on.commit(replaced('a'), nested('a', 'x'), nested('a', 'y'), nested('a', 'y/z'), failed('b'));
      await on.commit({ ...nested('a', 'deep'), path: 'docs/a/x/deep' });
      expect(await on.state.children('docs', '', 10)).toEqual(['docs/a', 'docs/b']);
      expect(await on.state.children('docs/a', '', 2)).toEqual(['docs/a/x', 'docs/a/y']);
      expect(await on.state.children('docs/a', 'docs/a/y', 2)).toEqual(['docs/a/y%2Fz']);
      expect(await on.state.children('docs/a/x', '', 10)).toEqual(['docs/a/x/deep']);
      expect(await on.state.children('nothing', '', 10)).toEqual([]);
    });
  });
}
