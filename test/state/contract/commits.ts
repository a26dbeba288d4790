// What commits, failures and removals leave behind, and which of them write nothing.
import { describe, expect, test } from 'vitest';
import { failed, listed, packed, removed, replaced, token, work } from '../build.ts';
import { type Subject, verdicts } from './subject.ts';

export function commitClaims(on: Subject): void {
  describe('commits', () => {
    test('new rows take the place of the old ones, and targets that are not named any more own nothing', async () => {
      await on.commit(
        replaced('a', {
          rows: new Map([
            ['one', packed(1)],
            ['two', packed(2)],
          ]),
        }),
      );
      await on.commit(replaced('a', { token: token(2), base: token(1), rows: new Map([['two', packed(3)]]) }));
      const [record] = await on.state.components(['docs/a']);
      expect(record!.rows).toEqual(new Map([['two', packed(3)]]));
      await on.commit(replaced('a', { token: token(3), base: token(2) }));
      expect((await on.state.components(['docs/a', 'docs/b'])).map((found) => found?.rows)).toEqual([
        new Map(),
        undefined,
      ]);
    });

    test('a commit with an older token writes nothing, be it an older run, attempt or epoch', async () => {
      await on.commit(replaced('a', { token: token(7, 2) }));
      const base = token(7, 2);
      expect(
        await on.commit(
          replaced('a', { token: token(6, 9), base, fingerprint: 'late' }),
          replaced('a', { token: token(7, 1), base, fingerprint: 'late' }),
          replaced('a', { token: token(8, 1, 0), base, fingerprint: 'late' }),
          removed('a', { token: token(6), base }),
          failed('a', { token: token(6) }),
        ),
      ).toEqual(['fenced by token', 'fenced by token', 'fenced by epoch', 'fenced by token', 'fenced by token']);
      expect((await on.state.components(['docs/a']))[0]).toMatchObject({ fingerprint: 'spec-1', token: base });
    });

    test('a commit that was computed against another record is told so, and writes nothing', async () => {
      await on.commit(replaced('a', { token: token(2) }));
      expect(
        await on.commit(
          replaced('a', { token: token(3), fingerprint: 'x' }),
          replaced('a', { token: token(3), base: token(1), fingerprint: 'x' }),
          removed('a', { token: token(3), base: token(1) }),
          { kind: 'touch', path: 'docs/a', token: token(3), item: { source: 'docs', key: 'a', version: 'a@2' } },
          replaced('b', { token: token(3), base: token(1) }),
        ),
        'a base that is another one, or none, is a record that moved',
      ).toEqual(['moved', 'moved', 'moved', 'moved', 'moved']);
      expect(await verdicts(on.state, listed('a', 'b'))).toEqual(['unchanged', 'new']);
    });

    test('the others of a group are written though one of them is refused', async () => {
      await on.commit(replaced('a', { token: token(9) }));
      expect(await on.commit(replaced('a', { token: token(1) }), replaced('b'))).toEqual([
        'fenced by token',
        'committed',
      ]);
      expect(await verdicts(on.state, listed('b'))).toEqual(['unchanged']);
    });

    test('an item that failed and never succeeded has no component yet, and takes a commit without base', async () => {
      await on.commit(failed('a', { token: token(1) }));
      const [opened] = await on.state.begin([{ path: 'docs/a', item: { source: 'docs', key: 'a' } }]);
      expect([opened!.item?.status, opened!.component]).toEqual(['failed', undefined]);
      expect(await on.commit(replaced('a', { token: token(2) }))).toEqual(['committed']);
    });

    test('a failure after a success changes the token that the next commit must name', async () => {
      await on.commit(replaced('a'));
      await on.commit(failed('a', { token: token(2) }));
      expect((await on.state.components(['docs/a']))[0]?.token).toEqual(token(2));
      expect(await on.commit(replaced('a', { token: token(3), base: token(1) }))).toEqual(['moved']);
      expect(await on.commit(replaced('a', { token: token(3), base: token(2) }))).toEqual(['committed']);
    });

    test('a touch changes the version and nothing else, and clears failures', async () => {
      await on.commit(replaced('a', { rows: new Map([['vectors', packed(1)]]) }));
      await on.commit(failed('a', { token: token(2) }));
      const item = { source: 'docs', key: 'a', version: 'a@2' };
      await on.commit({ kind: 'touch', path: 'docs/a', token: token(3), base: token(2), item });
      expect(await verdicts(on.state, [{ key: 'a', version: 'a@2' }])).toEqual(['unchanged']);
      expect(await on.state.item('docs', 'a')).toMatchObject({ status: 'ok', failures: 0, contentHash: 'hash of a' });
      expect((await on.state.components(['docs/a']))[0]?.rows).toEqual(new Map([['vectors', packed(1)]]));
    });

    test('a failure keeps the old rows and hash, is counted, and a success clears it', async () => {
      await on.commit(replaced('a', { rows: new Map([['vectors', packed(1)]]) }));
      const again = (run: number) =>
        failed('a', { token: token(run), item: { source: 'docs', key: 'a', version: 'a@2' }, losses: 2 });
      await on.commit(again(2));
      await on.commit(again(3));
      expect(await on.state.item('docs', 'a')).toMatchObject({
        version: 'a@2',
        status: 'failed',
        error: 'it broke',
        failures: 2,
        losses: 2,
        contentHash: 'hash of a',
      });
      expect((await on.state.components(['docs/a']))[0]?.rows).toEqual(new Map([['vectors', packed(1)]]));
      await on.commit(replaced('a', { token: token(4), base: token(3) }));
      const healed = await on.state.item('docs', 'a');
      expect(healed).toMatchObject({ status: 'ok', failures: 0, losses: 0 });
      expect(healed).not.toHaveProperty('error');
    });

    test('an item that never succeeded has a record, and so have its children none', async () => {
      await on.commit(failed('a'), { ...failed('b'), path: 'docs/b/part', item: undefined } as never);
      expect(await on.state.item('docs', 'a')).toMatchObject({ status: 'failed', contentHash: '', failures: 1 });
      expect(await on.state.children('docs/b', '', 10)).toEqual([]);
    });

    test('a removal takes the record, the cursor and the item; a second one is no error', async () => {
      await on.commit(replaced('a'));
      await on.state.setCursor('docs/a', 5);
      expect(await on.commit(removed('a', { base: token(1) }))).toEqual(['committed']);
      expect(await on.state.components(['docs/a'])).toEqual([undefined]);
      expect(await on.state.cursor('docs/a')).toBeUndefined();
      expect((await on.state.extent('docs')).items).toBe(0);
      expect(await on.commit(removed('a', { base: token(1) }))).toEqual(['committed']);
    });

    test('cursors at and below a path come in pages, and those beside it do not', async () => {
      for (const path of ['docs', 'docs/a/live', 'docs/a', 'docs/b/x', 'docs2/a', 'doc'])
        await on.state.setCursor(path, { of: path });
      const first = await on.state.cursors('docs', '', 2);
      expect(first).toEqual(['docs', 'docs/a'].map((path) => ({ path, value: { of: path } })));
      expect((await on.state.cursors('docs', 'docs/a', 10)).map(({ path }) => path)).toEqual([
        'docs/a/live',
        'docs/b/x',
      ]);
    });

    test('a run that was presumed dead does not bring a removed component back', async () => {
      await on.commit(replaced('a'));
      await on.commit(removed('a', { token: token(9), base: token(1) }));
      expect(await on.commit(replaced('a', { token: token(5) }))).toEqual(['fenced by token']);
      expect(await on.commit(replaced('a', { token: token(10) }))).toEqual(['committed']);
    });

    test('a settled entry leaves the work list, unless a newer update has taken it over', async () => {
      await on.state.enter([work('a'), work('b')]);
      await on.state.enter([work('b', { version: 'b@2', update: 'u2' })]);
      await on.commit(replaced('a', { settles: 'u1' }), replaced('b', { settles: 'u1' }));
      expect(await on.state.countWork({ update: 'u1' })).toBe(0);
      expect((await on.state.takeWork('u2', 0, 10)).map(({ key }) => key)).toEqual(['b']);
    });

    test('everything is there after the store was closed and opened', async () => {
      await on.commit(replaced('a', { rows: new Map([['vectors', packed(1)]]) }), failed('b'));
      await on.state.enter([work('c')]);
      await on.state.setCursor('docs', { at: 7 });
      await on.reopen();
      expect(await verdicts(on.state, listed('a', 'b', 'c'))).toEqual(['unchanged', 'failed', 'new']);
      expect((await on.state.takeWork('u1', 0, 10)).map(({ key }) => key)).toEqual(['c']);
      expect(await on.state.cursor('docs')).toEqual({ at: 7 });
    });
  });
}
