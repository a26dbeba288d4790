// What every state store promises, as one suite: SQLite and Postgres both pass it.
import { beforeEach, describe, expect, test } from 'vitest';
import type { StateStore } from '../../runner/execute/index.ts';
import { itemPath } from '../../runner/protocol/index.ts';
import { failed, hexId, listed, memoEntry, nested, packed, removed, replaced, textOf, token, work } from './build.ts';

const HOUR_MS = 3_600_000;

/** A place for states: each `store()` is another process's view of the same state. */
export interface StatePlace {
  store(): StateStore;
  /** Moves the store's clock, where a test owns it. */
  passMs(ms: number): Promise<void>;
}

const verdicts = async (
  state: StateStore,
  items: readonly { key: string; version: string }[],
  fingerprint = 'spec-1',
) => (await state.compare('docs', items, fingerprint)).map(({ verdict }) => verdict);

export function stateContract(name: string, makePlace: () => Promise<StatePlace>): void {
  describe(`F23, ${name}: the contract of a state`, () => {
    let place: StatePlace;
    let state: StateStore;

    beforeEach(async () => {
      place = await makePlace();
      state = place.store();
      await state.open(1);
      return async () => state.close();
    });

    const reopen = async (epoch: number | 'next' = 1): Promise<number> => {
      await state.close();
      state = place.store();
      return state.open(epoch);
    };
    const commit = async (...group: Parameters<StateStore['commit']>[0][number][]) =>
      (await state.commit(group)).map((result) => (result.kind === 'fenced' ? `fenced by ${result.by}` : result.kind));

    describe('comparing a listing', () => {
      test('an item that was never committed is new and has no number', async () => {
        expect(await state.compare('docs', listed('a'), 'spec-1')).toEqual([{ id: 0, verdict: 'new' }]);
      });

      test('an item of the same version and fingerprint is unchanged, another version changed, another fingerprint stale', async () => {
        await commit(replaced('a'), replaced('b', { fingerprint: 'spec-0' }));
        expect(await verdicts(state, [...listed('a', 'b', 'c'), { key: 'a', version: 'a@2' }])).toEqual([
          'unchanged',
          'stale',
          'new',
          'changed',
        ]);
      });

      test('equal keys of two sources are two items', async () => {
        await commit(replaced('a'));
        expect(await state.compare('tickets', listed('a'), 'spec-1')).toEqual([{ id: 0, verdict: 'new' }]);
      });

      test('a failed item is tried again at the same version, a quarantined one is left alone until it changes', async () => {
        await commit(failed('a'), failed('b', { status: 'quarantined', losses: 3 }));
        expect(await verdicts(state, listed('a', 'b'))).toEqual(['failed', 'quarantined']);
        expect(await verdicts(state, [{ key: 'b', version: 'b@2' }])).toEqual(['changed']);
      });

      test('work that is wanted at another version, or a delete, contradicts the listing; the same version does not', async () => {
        await commit(replaced('a'), replaced('b'), replaced('c'), replaced('d'));
        const soon = (await state.nowMs()) + 10;
        await state.enter([
          work('a', { version: 'a@2' }),
          work('b', { action: 'delete', version: '', seenAtMs: soon }),
          work('c'),
          work('d', { version: '' }),
        ]);
        expect(await verdicts(state, listed('a', 'b', 'c', 'd'))).toEqual([
          'changed',
          'changed',
          'unchanged',
          'unchanged',
        ]);
      });

      test('a batch of any keys, in any order, is answered in its own order', async () => {
        const keys = ['z/9', 'a', 'm%', 'Ω', '𝄞', '\uffee', 'b/c.d', 'B', 'with space', "quo'te"];
        await commit(...keys.map((key) => replaced(key)));
        const shuffled = ['𝄞', 'gone', 'Ω', '\uffee', 'a', 'with space', 'z/9', 'B', 'b/c.d', "quo'te", 'm%'];
        expect(await verdicts(state, listed(...shuffled))).toEqual(
          shuffled.map((key) => (key === 'gone' ? 'new' : 'unchanged')),
        );
      });

      test('a batch that is scattered over many items is answered as one that lies together', async () => {
        const keys = Array.from({ length: 500 }, (_, index) => `file-${String(index).padStart(4, '0')}`);
        await commit(...keys.map((key) => replaced(key)));
        expect(await verdicts(state, listed(keys[0]!, keys[499]!, keys[250]!, 'file-9999'))).toEqual([
          'unchanged',
          'unchanged',
          'unchanged',
          'new',
        ]);
      });

      test('numbers of items are never given twice', async () => {
        await commit(replaced('a'), replaced('b'));
        const before = await state.extent('docs');
        expect(before.items).toBe(2);
        await commit(removed('b', { base: token(1) }));
        await reopen();
        await commit(replaced('c'));
        const [comparison] = await state.compare('docs', listed('c'), 'spec-1');
        expect(comparison!.id).toBeGreaterThan(before.lastId);
        expect((await state.extent('docs')).lastId).toBeGreaterThanOrEqual(comparison!.id);
      });
    });

    describe('a census', () => {
      test('counts the items of each source, and those that failed or are quarantined, as they are now', async () => {
        expect((await state.census()).sources).toEqual([]);
        const other = { path: itemPath('a/b', 'x'), item: { source: 'a/b', key: 'x', version: '1' } };
        await commit(replaced('a'), replaced('b'), nested('a', 'part'), failed('c'), replaced('x', other));
        await commit(failed('d', { status: 'quarantined', losses: 3 }));
        const before = await state.census();
        expect(before.sources).toEqual([
          { source: 'a/b', total: 1, failed: 0, quarantined: 0 },
          { source: 'docs', total: 4, failed: 1, quarantined: 1 },
        ]);
        await state.release('docs');
        await commit(removed('a', { base: token(1) }), replaced('c', { token: token(2) }));
        const after = await state.census();
        expect(after.sources[1]).toEqual({ source: 'docs', total: 3, failed: 1, quarantined: 0 });
        expect(after.atMs).toBeGreaterThan(before.atMs);
      });
    });

    describe('what a run finds', () => {
      test('a run finds its work, its item and its component in one call; an unknown one finds nothing', async () => {
        await commit(replaced('a', { rows: new Map([['vectors', packed(1)]]), value: { n: 1 } }));
        await state.enter([work('a', { version: 'a@2', sizeBytes: 7, reprocess: true })]);
        const refs = ['a', 'gone'].map((key) => ({ path: itemPath('docs', key), item: { source: 'docs', key } }));
        const [known, unknown] = await state.begin(refs);
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
        await commit(replaced('src/50%/a b.ts'));
        const items = await state.scanItems({ source: 'docs' }, 0, 10);
        expect(items.map(({ key }) => key)).toEqual(['src/50%/a b.ts']);
        expect((await state.scanKeys('docs', 0, 10)).map(({ key }) => key)).toEqual(['src/50%/a b.ts']);
        expect((await state.item('docs', 'src/50%/a b.ts'))?.version).toBe('src/50%/a b.ts@1');
      });

      test('items are scanned in pages by number, by source, status and fingerprint', async () => {
        await commit(
          replaced('a'),
          failed('b'),
          replaced('c', { fingerprint: 'spec-0' }),
          nested('a', 'part'),
          replaced('x', { path: itemPath('tickets', 'x'), item: { source: 'tickets', key: 'x', version: '1' } }),
        );
        const keys = async (filter: Parameters<StateStore['scanItems']>[0], after = 0, limit = 10) =>
          (await state.scanItems(filter, after, limit)).map(({ source, key }) => `${source}/${key}`);
        expect(await keys({})).toEqual(['docs/a', 'docs/b', 'docs/c', 'tickets/x']);
        expect(await keys({ source: 'docs' }, 0, 2)).toEqual(['docs/a', 'docs/b']);
        const [, second] = await state.scanItems({ source: 'docs' }, 0, 2);
        expect(await keys({ source: 'docs' }, second!.id)).toEqual(['docs/c']);
        expect(await keys({ status: 'failed' })).toEqual(['docs/b']);
        expect(await keys({ otherThan: 'spec-1' })).toEqual(['docs/b', 'docs/c']);
        expect(await keys({ source: 'none' })).toEqual([]);
      });

      test('children of a path are those directly below it, in pages by path', async () => {
        await commit(replaced('a'), nested('a', 'x'), nested('a', 'y'), nested('a', 'y/z'), failed('b'));
        await commit({ ...nested('a', 'deep'), path: 'docs/a/x/deep' });
        expect(await state.children('docs', '', 10)).toEqual(['docs/a', 'docs/b']);
        expect(await state.children('docs/a', '', 2)).toEqual(['docs/a/x', 'docs/a/y']);
        expect(await state.children('docs/a', 'docs/a/y', 2)).toEqual(['docs/a/y%2Fz']);
        expect(await state.children('docs/a/x', '', 10)).toEqual(['docs/a/x/deep']);
        expect(await state.children('nothing', '', 10)).toEqual([]);
      });
    });

    describe('commits', () => {
      test('new rows take the place of the old ones, and targets that are not named any more own nothing', async () => {
        await commit(
          replaced('a', {
            rows: new Map([
              ['one', packed(1)],
              ['two', packed(2)],
            ]),
          }),
        );
        await commit(replaced('a', { token: token(2), base: token(1), rows: new Map([['two', packed(3)]]) }));
        const [record] = await state.components(['docs/a']);
        expect(record!.rows).toEqual(new Map([['two', packed(3)]]));
        await commit(replaced('a', { token: token(3), base: token(2) }));
        expect((await state.components(['docs/a', 'docs/b'])).map((found) => found?.rows)).toEqual([
          new Map(),
          undefined,
        ]);
      });

      test('a commit with an older token writes nothing, be it an older run, attempt or epoch', async () => {
        await commit(replaced('a', { token: token(7, 2) }));
        const base = token(7, 2);
        expect(
          await commit(
            replaced('a', { token: token(6, 9), base, fingerprint: 'late' }),
            replaced('a', { token: token(7, 1), base, fingerprint: 'late' }),
            replaced('a', { token: token(8, 1, 0), base, fingerprint: 'late' }),
            removed('a', { token: token(6), base }),
            failed('a', { token: token(6) }),
          ),
        ).toEqual(['fenced by token', 'fenced by token', 'fenced by epoch', 'fenced by token', 'fenced by token']);
        expect((await state.components(['docs/a']))[0]).toMatchObject({ fingerprint: 'spec-1', token: base });
      });

      test('a commit that was computed against another record is told so, and writes nothing', async () => {
        await commit(replaced('a', { token: token(2) }));
        expect(
          await commit(
            replaced('a', { token: token(3), fingerprint: 'x' }),
            replaced('a', { token: token(3), base: token(1), fingerprint: 'x' }),
            removed('a', { token: token(3), base: token(1) }),
            { kind: 'touch', path: 'docs/a', token: token(3), item: { source: 'docs', key: 'a', version: 'a@2' } },
            replaced('b', { token: token(3), base: token(1) }),
          ),
          'a base that is another one, or none, is a record that moved',
        ).toEqual(['moved', 'moved', 'moved', 'moved', 'moved']);
        expect(await verdicts(state, listed('a', 'b'))).toEqual(['unchanged', 'new']);
      });

      test('the others of a group are written though one of them is refused', async () => {
        await commit(replaced('a', { token: token(9) }));
        expect(await commit(replaced('a', { token: token(1) }), replaced('b'))).toEqual([
          'fenced by token',
          'committed',
        ]);
        expect(await verdicts(state, listed('b'))).toEqual(['unchanged']);
      });

      test('an item that failed and never succeeded has no component yet, and takes a commit without base', async () => {
        await commit(failed('a', { token: token(1) }));
        const [opened] = await state.begin([{ path: 'docs/a', item: { source: 'docs', key: 'a' } }]);
        expect([opened!.item?.status, opened!.component]).toEqual(['failed', undefined]);
        expect(await commit(replaced('a', { token: token(2) }))).toEqual(['committed']);
      });

      test('a failure after a success changes the token that the next commit must name', async () => {
        await commit(replaced('a'));
        await commit(failed('a', { token: token(2) }));
        expect((await state.components(['docs/a']))[0]?.token).toEqual(token(2));
        expect(await commit(replaced('a', { token: token(3), base: token(1) }))).toEqual(['moved']);
        expect(await commit(replaced('a', { token: token(3), base: token(2) }))).toEqual(['committed']);
      });

      test('a touch changes the version and nothing else, and clears failures', async () => {
        await commit(replaced('a', { rows: new Map([['vectors', packed(1)]]) }));
        await commit(failed('a', { token: token(2) }));
        const item = { source: 'docs', key: 'a', version: 'a@2' };
        await commit({ kind: 'touch', path: 'docs/a', token: token(3), base: token(2), item });
        expect(await verdicts(state, [{ key: 'a', version: 'a@2' }])).toEqual(['unchanged']);
        expect(await state.item('docs', 'a')).toMatchObject({ status: 'ok', failures: 0, contentHash: 'hash of a' });
        expect((await state.components(['docs/a']))[0]?.rows).toEqual(new Map([['vectors', packed(1)]]));
      });

      test('a failure keeps the old rows and hash, is counted, and a success clears it', async () => {
        await commit(replaced('a', { rows: new Map([['vectors', packed(1)]]) }));
        const again = (run: number) =>
          failed('a', { token: token(run), item: { source: 'docs', key: 'a', version: 'a@2' }, losses: 2 });
        await commit(again(2));
        await commit(again(3));
        expect(await state.item('docs', 'a')).toMatchObject({
          version: 'a@2',
          status: 'failed',
          error: 'it broke',
          failures: 2,
          losses: 2,
          contentHash: 'hash of a',
        });
        expect((await state.components(['docs/a']))[0]?.rows).toEqual(new Map([['vectors', packed(1)]]));
        await commit(replaced('a', { token: token(4), base: token(3) }));
        const healed = await state.item('docs', 'a');
        expect(healed).toMatchObject({ status: 'ok', failures: 0, losses: 0 });
        expect(healed).not.toHaveProperty('error');
      });

      test('an item that never succeeded has a record, and so have its children none', async () => {
        await commit(failed('a'), { ...failed('b'), path: 'docs/b/part', item: undefined } as never);
        expect(await state.item('docs', 'a')).toMatchObject({ status: 'failed', contentHash: '', failures: 1 });
        expect(await state.children('docs/b', '', 10)).toEqual([]);
      });

      test('a removal takes the record, the cursor and the item; a second one is no error', async () => {
        await commit(replaced('a'));
        await state.setCursor('docs/a', 5);
        expect(await commit(removed('a', { base: token(1) }))).toEqual(['committed']);
        expect(await state.components(['docs/a'])).toEqual([undefined]);
        expect(await state.cursor('docs/a')).toBeUndefined();
        expect((await state.extent('docs')).items).toBe(0);
        expect(await commit(removed('a', { base: token(1) }))).toEqual(['committed']);
      });

      test('cursors at and below a path come in pages, and those beside it do not', async () => {
        for (const path of ['docs', 'docs/a/live', 'docs/a', 'docs/b/x', 'docs2/a', 'doc'])
          await state.setCursor(path, { of: path });
        const first = await state.cursors('docs', '', 2);
        expect(first).toEqual(['docs', 'docs/a'].map((path) => ({ path, value: { of: path } })));
        expect((await state.cursors('docs', 'docs/a', 10)).map(({ path }) => path)).toEqual([
          'docs/a/live',
          'docs/b/x',
        ]);
      });

      test('a run that was presumed dead does not bring a removed component back', async () => {
        await commit(replaced('a'));
        await commit(removed('a', { token: token(9), base: token(1) }));
        expect(await commit(replaced('a', { token: token(5) }))).toEqual(['fenced by token']);
        expect(await commit(replaced('a', { token: token(10) }))).toEqual(['committed']);
      });

      test('a settled entry leaves the work list, unless a newer update has taken it over', async () => {
        await state.enter([work('a'), work('b')]);
        await state.enter([work('b', { version: 'b@2', update: 'u2' })]);
        await commit(replaced('a', { settles: 'u1' }), replaced('b', { settles: 'u1' }));
        expect(await state.countWork({ update: 'u1' })).toBe(0);
        expect((await state.takeWork('u2', 0, 10)).map(({ key }) => key)).toEqual(['b']);
      });

      test('everything is there after the store was closed and opened', async () => {
        await commit(replaced('a', { rows: new Map([['vectors', packed(1)]]) }), failed('b'));
        await state.enter([work('c')]);
        await state.setCursor('docs', { at: 7 });
        await reopen();
        expect(await verdicts(state, listed('a', 'b', 'c'))).toEqual(['unchanged', 'failed', 'new']);
        expect((await state.takeWork('u1', 0, 10)).map(({ key }) => key)).toEqual(['c']);
        expect(await state.cursor('docs')).toEqual({ at: 7 });
      });
    });

    describe('time', () => {
      test('the store never gives the same time twice, and an item is seen before a listing that begins after its commit', async () => {
        await commit(replaced('a'));
        const beganAtMs = await state.nowMs();
        await commit(replaced('b'));
        expect((await state.item('docs', 'a'))!.seenAtMs).toBeLessThan(beganAtMs);
        expect((await state.item('docs', 'b'))!.seenAtMs).toBeGreaterThan(beganAtMs);
        await reopen();
        expect(await state.nowMs()).toBeGreaterThan(beganAtMs);
      });
    });

    describe('epochs', () => {
      test('a newer leader fences the commits of the older one', async () => {
        await commit(replaced('a'));
        await reopen(5);
        expect(await commit(replaced('b', { token: token(99, 1, 4) }))).toEqual(['fenced by epoch']);
        expect(await commit(replaced('b', { token: token(1, 1, 5) }))).toEqual(['committed']);
      });

      test('an older leader cannot open the store any more', async () => {
        await reopen(5);
        await expect(reopen(4)).rejects.toThrow(/epoch 4 .*epoch 5/s);
        state = place.store();
        await state.open(5);
      });

      test('a process without a leader above it gets the next epoch', async () => {
        expect(await reopen('next')).toBe(2);
        expect(await reopen('next')).toBe(3);
      });
    });

    describe('rows outside the store', () => {
      const intent = (key: string, run: number, ...bytes: number[]) => ({
        path: itemPath('docs', key),
        token: token(run),
        item: { source: 'docs', key },
        rows: new Map([['far', packed(...bytes)]]),
      });

      test('what was intended is found again until a commit settles it', async () => {
        await commit(replaced('a', { rows: new Map([['far', packed(1)]]) }));
        await state.intend([intent('a', 2, 2)]);
        await reopen();
        await state.intend([intent('a', 3, 3)]);
        const [record] = await state.components(['docs/a']);
        expect(record!.rows).toEqual(new Map([['far', packed(1)]]));
        expect(record!.intended).toEqual(new Map([['far', [packed(2), packed(3)]]]));
        await commit(replaced('a', { token: token(3), base: token(1), rows: new Map([['far', packed(3)]]) }));
        expect((await state.components(['docs/a']))[0]!.intended).toEqual(new Map());
      });

      test('an apply that was interrupted is found by the next listing, whatever the version', async () => {
        await commit(replaced('a'));
        await state.intend([intent('a', 2, 2)]);
        expect(await verdicts(state, listed('a'))).toEqual(['stale']);
        await commit(replaced('a', { token: token(2), base: token(1) }));
        expect(await verdicts(state, listed('a'))).toEqual(['unchanged']);
      });

      test('a component that died before its first commit is known, so that its rows can be deleted', async () => {
        await state.intend([intent('a', 1, 1)]);
        expect((await state.components(['docs/a']))[0]!.intended).toEqual(new Map([['far', [packed(1)]]]));
        expect(await state.children('docs', '', 10)).toEqual(['docs/a']);
        expect((await state.scanKeys('docs', 0, 10)).map(({ key }) => key)).toEqual(['a']);
        expect(await verdicts(state, listed('a'))).toEqual(['changed']);
        expect(await commit(replaced('a', { token: token(2) }))).toEqual(['committed']);
      });

      test('an intent fences older runs, and is itself fenced by newer ones', async () => {
        await state.intend([intent('a', 5, 1)]);
        expect(await commit(replaced('a', { token: token(4) }))).toEqual(['fenced by token']);
        expect(await state.intend([intent('a', 4, 2), intent('b', 1, 1)])).toEqual([
          { kind: 'fenced', by: 'token' },
          { kind: 'committed' },
        ]);
      });

      test('doubt keeps the rows as intended and has the item written again by the next cycle', async () => {
        await commit(replaced('a', { token: token(9) }));
        await state.doubt([intent('a', 3, 7)]);
        expect(await verdicts(state, listed('a'))).toEqual(['stale']);
        expect((await state.components(['docs/a']))[0]!.intended).toEqual(new Map([['far', [packed(7)]]]));
        expect(await commit(replaced('a', { token: token(10), base: token(9) }))).toEqual(['committed']);
      });

      test('a removal settles intents', async () => {
        await state.intend([intent('a', 1, 1)]);
        await commit(removed('a', { token: token(2) }));
        expect(await state.components(['docs/a'])).toEqual([undefined]);
      });
    });

    describe('the work list', () => {
      test('entries are taken by update in the order of entry, in pages', async () => {
        await state.enter([work('c'), work('a'), work('x', { update: 'u2' }), work('b')]);
        const first = await state.takeWork('u1', 0, 2);
        expect(first.map(({ key }) => key)).toEqual(['c', 'a']);
        expect((await state.takeWork('u1', first[1]!.seq, 10)).map(({ key }) => key)).toEqual(['b']);
        expect(await state.takeWork('nobody', 0, 10)).toEqual([]);
      });

      test('an entry says that the item is new as it was told, and no more once another update adopted it', async () => {
        await state.enter([work('a', { fresh: true }), work('b')]);
        expect((await state.takeWork('u1', 0, 10)).map(({ fresh }) => fresh)).toEqual([true, undefined]);
        await state.adoptWork('docs', 'u2', []);
        expect((await state.takeWork('u2', 0, 10)).map(({ fresh }) => fresh)).toEqual([undefined, undefined]);
      });

      test('W6: an item that another update committed after a comparison called it new is entered as one that is known', async () => {
        const offers = [work('a', { fresh: true }), work('b', { fresh: true })];
        expect(await verdicts(state, listed('a', 'b'))).toEqual(['new', 'new']);
        await commit(replaced('a'));
        const entered = await state.enter(offers);
        expect(entered.map((one) => one.kind === 'entered' && (one.fresh ?? false))).toEqual([false, true]);
        expect((await state.takeWork('u1', 0, 10)).map(({ fresh }) => fresh ?? false)).toEqual([false, true]);
      });

      test('W2: what is wanted already at that version is known, whoever wants it', async () => {
        await state.enter([work('a')]);
        expect(await state.enter([work('a', { update: 'u2', seenAtMs: 2000 })])).toEqual([{ kind: 'known' }]);
        expect((await state.takeWork('u1', 0, 10)).length).toBe(1);
      });

      test('W3: a newer version takes the entry over, keeps the wish to reprocess, and stands at the end', async () => {
        await state.enter([work('a', { reprocess: true }), work('b')]);
        const [entered] = await state.enter([work('a', { update: 'u2', version: 'a@2', seenAtMs: 1000 })]);
        expect(entered).toMatchObject({ kind: 'tookOver', from: 'u1' });
        expect(await state.takeWork('u2', 0, 10)).toMatchObject([{ key: 'a', version: 'a@2', reprocess: true }]);
        expect((await state.takeWork('u2', 0, 10))[0]!.seq).toBeGreaterThan(
          (await state.takeWork('u1', 0, 10))[0]!.seq,
        );
      });

      test('W3: asking to reprocess the same version takes it over too', async () => {
        await state.enter([work('a')]);
        const [entered] = await state.enter([work('a', { update: 'u2', reprocess: true, seenAtMs: 2000 })]);
        expect(entered).toMatchObject({ kind: 'tookOver', from: 'u1' });
        expect(await state.enter([work('a', { update: 'u3', seenAtMs: 3000 })])).toEqual([{ kind: 'known' }]);
      });

      test('W4: an offer from an older look at the source changes nothing', async () => {
        await state.enter([work('a', { version: 'a@2', seenAtMs: 5000 })]);
        expect(await state.enter([work('a', { update: 'u2', seenAtMs: 4999 })])).toEqual([{ kind: 'older' }]);
      });

      test('W5: an item that was seen after a listing began is not deleted by it', async () => {
        await commit(replaced('a'));
        const { seenAtMs } = (await state.item('docs', 'a'))!;
        const remove = (key: string, at: number) =>
          work(key, { action: 'delete', version: '', update: 'u2', seenAtMs: at });
        expect(await state.enter([remove('a', seenAtMs)])).toEqual([{ kind: 'older' }]);
        expect(await state.enter([remove('a', seenAtMs + 1)])).toMatchObject([{ kind: 'entered' }]);
        expect(await state.enter([remove('unknown', seenAtMs + 1)])).toEqual([{ kind: 'known' }]);
      });

      test('work of updates that are over goes to the one that adopts it: losses counted, deletes dropped, order kept', async () => {
        await commit(replaced('gone'));
        const later = (await state.nowMs()) + 1000;
        await state.enter([
          work('b'),
          work('a', { update: 'u2' }),
          work('open', { update: 'u3' }),
          work('gone', { action: 'delete', version: '', seenAtMs: later }),
          work('other', { source: 'tickets' }),
        ]);
        await state.startWork([{ source: 'docs', key: 'a', update: 'u2' }]);
        await reopen();
        expect(await state.adoptWork('docs', 'u9', ['u3', 'u9'])).toBe(2);
        expect((await state.takeWork('u9', 0, 10)).map(({ key, losses }) => [key, losses])).toEqual([
          ['b', 0],
          ['a', 1],
        ]);
        expect(await state.countWork({ source: 'docs' })).toBe(3);
        expect(await state.countWork({ update: 'u1' })).toBe(1);
      });

      test('dropped entries are gone, those of other updates stay', async () => {
        await state.enter([work('a'), work('b', { update: 'u2' })]);
        await state.dropWork('u1', [
          { source: 'docs', key: 'a' },
          { source: 'docs', key: 'b' },
        ]);
        expect(await state.countWork({})).toBe(1);
      });

      test('quarantined items are released by key, by source or all', async () => {
        const quarantined = (key: string) => failed(key, { status: 'quarantined', losses: 3 });
        await commit(...['a/1', 'b', 'c'].map(quarantined));
        expect(await state.release('docs', ['a/1', 'unknown'])).toBe(1);
        expect(await state.item('docs', 'a/1')).toMatchObject({ status: 'failed', losses: 0 });
        expect(await state.release('tickets')).toBe(0);
        expect(await state.release(undefined)).toBe(2);
      });
    });

    describe('memo', () => {
      const found = async (...numbers: number[]) => (await state.memo.get(numbers.map(hexId))).map(textOf);
      const noMemo = { put: [], uses: [], drop: [], retire: [] };

      test('what a commit puts is found, and is dropped with the commit whose rows hold it', async () => {
        await commit(replaced('a', { memo: { ...noMemo, put: [memoEntry(1), memoEntry(2)] } }));
        expect(await found(1, 2, 3)).toEqual(['value 1', 'value 2', undefined]);
        expect((await state.components(['docs/a']))[0]!.memoised).toBe(true);
        await commit(
          replaced('a', { token: token(2), base: token(1), memo: { ...noMemo, uses: [hexId(1)], drop: [hexId(2)] } }),
        );
        expect(await found(1, 2)).toEqual(['value 1', undefined]);
      });

      test('entries in use never go by age; those that a commit names no more, and those of removed components, do', async () => {
        await commit(replaced('a', { memo: { ...noMemo, put: [memoEntry(1), memoEntry(2)] } }));
        await commit(replaced('b', { memo: { ...noMemo, put: [memoEntry(3)] } }));
        await commit(replaced('a', { token: token(2), base: token(1), memo: { ...noMemo, uses: [hexId(1)] } }));
        await commit(removed('b', { token: token(2), base: token(1) }));
        expect(await state.memo.collect(60_000)).toBe(0);
        await place.passMs(60_001);
        expect(await state.memo.collect(60_000)).toBe(2);
        expect(await found(1, 2, 3)).toEqual(['value 1', undefined, undefined]);
      });

      test('results of attempts that did not commit are kept by age, and a commit can take them into use', async () => {
        await state.memo.put([memoEntry(1), memoEntry(2), memoEntry(1, 'another')]);
        expect(await found(1)).toEqual(['value 1']);
        await commit(replaced('a', { memo: { ...noMemo, uses: [hexId(1)], retire: [memoEntry(4)] } }));
        await place.passMs(10_001);
        expect(await state.memo.collect(10_000)).toBe(2);
        expect(await found(1, 2, 4)).toEqual(['value 1', undefined, undefined]);
      });

      test('a result that is kept again begins its age anew, and one that a component uses stays in use', async () => {
        await commit(replaced('a', { memo: { ...noMemo, put: [memoEntry(1)] } }));
        await state.memo.put([memoEntry(2), memoEntry(3)]);
        await place.passMs(2 * HOUR_MS);
        await state.memo.put([memoEntry(1), memoEntry(2, 'another')]);
        await place.passMs(2 * HOUR_MS);
        expect(await state.memo.collect(3 * HOUR_MS)).toBe(1);
        expect(await found(1, 2, 3)).toEqual(['value 1', 'value 2', undefined]);
      });

      test('a commit that says nothing of the memo leaves it', async () => {
        await commit(replaced('a', { memo: { ...noMemo, put: [memoEntry(1)] } }));
        await commit(replaced('a', { token: token(2), base: token(1) }));
        expect((await state.components(['docs/a']))[0]!.memoised).toBe(true);
        expect(await found(1)).toEqual(['value 1']);
      });
    });

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
        await state.saveUpdate(update('u1'));
        await state.saveUpdate(update('u2'));
        await state.saveUpdate(update('u1', { result: 'Succeeded', endedAtMs: 5 }));
        expect(await state.updates(10)).toEqual([update('u2'), update('u1', { result: 'Succeeded', endedAtMs: 5 })]);
      });

      test('the newest thousand are kept', async () => {
        for (let index = 0; index < 1005; index++) await state.saveUpdate(update(`u${index}`));
        const names = (await state.updates(5000)).map(({ name }) => name);
        expect([names.length, names[0], names.at(-1)]).toEqual([1000, 'u1004', 'u5']);
      });

      test('sizes count what there is', async () => {
        await commit(
          replaced('a', { memo: { put: [memoEntry(1)], uses: [], drop: [], retire: [] } }),
          nested('a', 'x'),
        );
        await state.enter([work('b')]);
        const sizes = await state.sizes();
        expect(sizes).toMatchObject({ items: 1, components: 2, memoEntries: 1, work: 1 });
        expect(sizes.bytes).toBeGreaterThan(0);
      });
    });
  });
}
